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
/** What scrolls between head and buttons. In a low window, where these leave it no height, the whole layer scrolls. */
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
  /** Stays when the page beside it is clicked or Escape is pressed: it shows what cannot be shown again. */
  shownOnce?: boolean;
  /** Makes what lies behind unreadable: it may not be for the person at the screen now. */
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
 * Closes a layer: by Escape, a click beside it, its cross or Cancel. What was written in it and not saved is asked about
 * first; while it is being sent it stays, since that cannot be taken back.
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

/** Says that a form begins with what was written before, and gives it up. */
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

/** The button that closes a dialog without doing what it is for. */
export function CancelButton({ children = 'Cancel' }: { children?: ReactNode }) {
  return (
    <Radix.Close asChild>
      <Button>{children}</Button>
    </Radix.Close>
  );
}

/** Comes last in the source, so that the first field has the focus when a layer opens. */
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

/** The row of buttons at the foot of a dialog or form; on phones they take the whole width. */
export function Actions({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <div className={cx('flex flex-col-reverse gap-2.5 sm:flex-row sm:items-center sm:justify-end', className)}>
      {children}
    </div>
  );
}

/** A task of its own over the page, as long as it is rendered. On phones it rises from the bottom. */
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

/** Details beside the page, at the right edge, as long as it is rendered; on phones over the whole screen. */
export function Drawer({ onClose, title, description, footer, children }: LayerProps) {
  const [layer, setLayer] = useState<HTMLElement | null>(null);
  const { onOpenAutoFocus, onCloseAutoFocus } = useReturnFocus();
  const close = useClosing(layer, onClose);
  // Where there is nothing to fill in, one begins to read, not at a button that does something.
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
