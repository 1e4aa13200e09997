import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import { useState, type ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import { formsIn, useRestored } from '../lib/unsaved.ts';
import { useReturnFocus } from '../lib/use-return-focus.ts';
import { Button } from './button.tsx';
import { PortalContainerContext } from './portal-container.tsx';
import { Notice } from './notice.tsx';
import { useAskDiscard } from './unsaved.tsx';

const scrim = 'appear-fade fixed inset-0 z-50 bg-scrim';
/**
 * The part that scrolls between header and footer. In a low window, where they leave it no height, the whole dialog
 * scrolls.
 */
const middle = 'min-h-0 flex-1 overflow-y-auto px-5 pt-1 sm:px-6 low:flex-none low:overflow-visible';

interface LayerProps {
  onClose: () => void;
  title: ReactNode;
  /** One sentence under the title. */
  description?: ReactNode;
  /** Buttons, the main one last. */
  footer?: ReactNode;
  children?: ReactNode;
}

export interface DialogProps extends LayerProps {
  size?: 'sm' | 'md' | 'lg' | 'xl';
  /** Ignores Escape and clicks outside, for content that cannot be shown again. */
  shownOnce?: boolean;
  /** Blurs the page behind, which the person at the screen may not be allowed to see. */
  veiled?: boolean;
}

const widths = { sm: 'sm:max-w-md', md: 'sm:max-w-xl', lg: 'sm:max-w-3xl', xl: 'sm:max-w-5xl' };

function Head({ title, description }: Pick<LayerProps, 'title' | 'description'>) {
  return (
    <div className="px-5 pt-4.5 pr-14 pb-3 sm:px-6 sm:pr-16">
      <Radix.Title className="font-serif text-xl font-semibold text-ink">{title}</Radix.Title>
      {description && <Radix.Description className="mt-1 text-soft">{description}</Radix.Description>}
    </div>
  );
}

/**
 * Returns the function that closes a layer on Escape, a click outside, Close or Cancel. It asks before discarding
 * unsaved input; while a form is being submitted the layer stays open, as the request cannot be cancelled.
 */
function useClosing(layer: HTMLElement | null, onClose: () => void) {
  const askDiscard = useAskDiscard();
  return async () => {
    const forms = layer ? formsIn(layer) : [];
    if (forms.some(({ pending }) => pending)) return;
    const unsaved = forms.filter(({ dirty }) => dirty);
    if (unsaved.length > 0) {
      if (!(await askDiscard())) return;
      for (const form of unsaved) form.discard();
    }
    onClose();
  };
}

/** Says that a form was restored from a draft, and offers to discard the draft. */
function Restored({ layer }: { layer: HTMLElement | null }) {
  const form = useRestored(layer);
  if (!form) return null;
  return (
    <div className="px-5 pb-3 sm:px-6">
      <Notice
        action={
          <Button
            size="sm"
            onClick={() => {
              form.discard();
              layer?.focus();
            }}
          >
            Start over
          </Button>
        }
      >
        Your draft from last time is still here.
      </Notice>
    </div>
  );
}

/** The button that closes a dialog without carrying out its action. */
export function CancelButton({ children = 'Cancel' }: { children?: ReactNode }) {
  return (
    <Radix.Close asChild>
      <Button>{children}</Button>
    </Radix.Close>
  );
}

/** The close button. Comes last in the source, so that the first field is focused when a layer opens. */
export function Close({ className = 'top-3.5 right-3.5' }: { className?: string }) {
  return (
    <Radix.Close
      aria-label="Close"
      className={cx(
        'absolute grid size-9 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink coarse:size-11',
        className,
      )}
    >
      <X className="size-4.5" />
    </Radix.Close>
  );
}

/** The row of buttons at the bottom of a dialog or form; full width on phones. */
export function Actions({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <div className={cx('flex flex-col-reverse gap-2.5 sm:flex-row sm:items-center sm:justify-end', className)}>
      {children}
    </div>
  );
}

/** A modal dialog over the page, open while it is rendered. On phones it slides up from the bottom. */
export function Dialog({
  onClose,
  title,
  description,
  footer,
  size = 'md',
  shownOnce = false,
  veiled = false,
  children,
}: DialogProps) {
  const [layer, setLayer] = useState<HTMLElement | null>(null);
  const stay = (event: Event) => shownOnce && event.preventDefault();
  const returning = useReturnFocus();
  const close = useClosing(layer, onClose);
  return (
    <Radix.Root open onOpenChange={() => void close()}>
      <Radix.Portal>
        <Radix.Overlay className={cx(scrim, veiled && 'backdrop-blur-xl')} />
        <div className="pointer-events-none fixed inset-0 z-50 flex items-end justify-center sm:items-center sm:p-6">
          <Radix.Content
            ref={setLayer}
            {...(description ? {} : { 'aria-describedby': undefined })}
            {...returning}
            onEscapeKeyDown={stay}
            onInteractOutside={stay}
            className={cx(
              'appear-dialog pointer-events-auto relative flex max-h-[92dvh] w-full flex-col bg-surface shadow-3 low:overflow-y-auto',
              'rounded-t-xl pb-[env(safe-area-inset-bottom)] sm:max-h-[86dvh] sm:rounded-xl',
              widths[size],
            )}
          >
            <PortalContainerContext value={layer}>
              <Head title={title} description={description} />
              <div role="status">
                <Restored layer={layer} />
              </div>
              <div className={cx(middle, 'pb-5')}>{children}</div>
              {footer && <Actions className="border-t border-line px-5 py-3.5 sm:px-6">{footer}</Actions>}
              <Close />
            </PortalContainerContext>
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Details in a panel at the right edge of the page, open while it is rendered; full screen on phones. */
export function Drawer({ onClose, title, description, footer, children }: LayerProps) {
  const [layer, setLayer] = useState<HTMLElement | null>(null);
  const { onOpenAutoFocus, onCloseAutoFocus } = useReturnFocus();
  const close = useClosing(layer, onClose);
  // Without form controls the panel itself is focused rather than a button, so that reading begins at the top.
  const beginAtPanel = (event: Event) => {
    onOpenAutoFocus();
    const panel = event.currentTarget as HTMLElement;
    if (panel.querySelector('input, select, textarea')) return;
    event.preventDefault();
    panel.focus();
  };
  return (
    <Radix.Root open onOpenChange={() => void close()}>
      <Radix.Portal>
        <Radix.Overlay className={scrim} />
        <Radix.Content
          onOpenAutoFocus={beginAtPanel}
          onCloseAutoFocus={onCloseAutoFocus}
          ref={setLayer}
          {...(description ? {} : { 'aria-describedby': undefined })}
          className="appear-side fixed outline-none inset-y-0 right-0 z-50 flex w-full max-w-xl flex-col bg-surface shadow-3 low:overflow-y-auto"
        >
          <PortalContainerContext value={layer}>
            <Head title={title} description={description} />
            <div role="status">
              <Restored layer={layer} />
            </div>
            <div className={cx(middle, 'pb-6')}>{children}</div>
            {footer && (
              <Actions className="border-t border-line px-5 pt-3.5 pb-[max(0.875rem,env(safe-area-inset-bottom))] sm:px-6">
                {footer}
              </Actions>
            )}
            <Close />
          </PortalContainerContext>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
