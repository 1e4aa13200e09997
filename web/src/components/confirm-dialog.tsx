import { useLocation } from '@tanstack/react-router';
import { AlertDialog as Radix } from 'radix-ui';
import { createContext, useCallback, useContext, useEffect, useRef, useState, type ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { useReturnFocus } from '../lib/use-return-focus.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';
import { toast } from './toast.tsx';

interface Question {
  title: string;
  /** What will happen, and whether it can be undone. */
  body: ReactNode;
  /** The label of the confirming button: the action, such as "Revoke key". */
  action: string;
  cancel?: string;
  danger?: boolean;
  /** The toast after the action succeeded. */
  done?: string;
}

interface ConfirmDialogProps extends Question {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Carries out the action. The dialog stays open while it is in progress, and shows the error when it fails. */
  onConfirm: () => unknown;
}

/** Asks for confirmation of an action that cannot be undone. */
export function ConfirmDialog({ open, onOpenChange, onConfirm, ...question }: ConfirmDialogProps) {
  const { title, body, action, cancel = 'Cancel', danger, done } = question;
  const [pending, setPending] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const returning = useReturnFocus();
  const pathname = useLocation({ select: (location) => location.pathname });
  const shownOn = useRef(pathname);
  // A question asked on one page must not be confirmed on the next. An action in progress keeps the dialog open until
  // its result is known.
  useEffect(() => {
    if (shownOn.current === pathname) return;
    shownOn.current = pathname;
    if (open && !pending) onOpenChange(false);
  }, [pathname, open, pending, onOpenChange]);
  const confirm = async () => {
    setPending(true);
    setFault(null);
    try {
      await onConfirm();
      if (done !== undefined) toast(done);
      onOpenChange(false);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(error.message);
    } finally {
      setPending(false);
    }
  };
  return (
    <Radix.Root
      open={open}
      onOpenChange={(next) => {
        // The action cannot be cancelled, and its result is shown here.
        if (pending) return;
        setFault(null);
        onOpenChange(next);
      }}
    >
      <Radix.Portal>
        <Radix.Overlay className="appear-fade fixed inset-0 z-50 bg-scrim" />
        <div className="pointer-events-none fixed inset-0 z-50 flex items-end justify-center sm:items-center sm:p-6">
          <Radix.Content
            {...returning}
            className="appear-dialog pointer-events-auto max-h-[92dvh] w-full overflow-y-auto rounded-t-xl bg-surface p-5 shadow-3 sm:max-h-[86dvh] sm:max-w-md sm:rounded-xl sm:p-6"
          >
            <Radix.Title className="font-serif text-xl font-semibold text-ink">{title}</Radix.Title>
            <Radix.Description asChild>
              <div className="mt-2 text-soft">{body}</div>
            </Radix.Description>
            {fault && (
              <Notice tone="bad" className="mt-4">
                {fault}
              </Notice>
            )}
            <div className="mt-6 flex flex-col-reverse gap-2.5 sm:flex-row sm:justify-end">
              <Radix.Cancel asChild>
                <Button disabled={pending}>{cancel}</Button>
              </Radix.Cancel>
              <Button kind={danger ? 'danger' : 'primary'} pending={pending} onClick={confirm}>
                {action}
              </Button>
            </div>
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  );
}

type Confirm = (question: Question, onConfirm: () => unknown) => void;

interface Asked {
  id: number;
  question: Question;
  onConfirm: () => unknown;
  open: boolean;
}

const ConfirmContext = createContext<Confirm | null>(null);

/** Provides {@link useConfirm} to its children. */
export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const count = useRef(0);
  const confirm = useCallback<Confirm>((question, onConfirm) => {
    count.current += 1;
    setAsked({ id: count.current, question, onConfirm, open: true });
  }, []);
  return (
    <ConfirmContext value={confirm}>
      {children}
      {asked && (
        // A new dialog for each question, so that it does not show the result of the previous one.
        <ConfirmDialog
          key={asked.id}
          {...asked.question}
          open={asked.open}
          onOpenChange={(open) => setAsked((latest) => (latest?.id === asked.id ? { ...latest, open } : latest))}
          onConfirm={asked.onConfirm}
        />
      )}
    </ConfirmContext>
  );
}

/** Returns `confirm(question, onConfirm)`, which asks, and runs `onConfirm` when the user confirms. */
export function useConfirm(): Confirm {
  const confirm = useContext(ConfirmContext);
  if (!confirm) throw new Error('useConfirm needs a ConfirmProvider above it');
  return confirm;
}
