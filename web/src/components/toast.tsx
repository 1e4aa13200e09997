import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { Toast as Radix } from 'radix-ui';
import { useSyncExternalStore } from 'react';
import { ApiError, messageWithoutForm } from '../api/client.ts';
import { announce } from '../lib/announce.ts';
import { cx } from '../lib/cx.ts';

interface Toast {
  id: number;
  title: string;
  tone: 'good' | 'bad';
  /** Reverts the reported action. */
  undo?: () => unknown;
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const followers = new Set<() => void>();

function keep(next: readonly Toast[]): void {
  toasts = next;
  for (const follow of followers) follow();
}

function add(added: Omit<Toast, 'id'>): void {
  lastId += 1;
  keep([...toasts.slice(-2), { ...added, id: lastId }]);
}

/**
 * Shows a brief message that an action succeeded or, with tone `bad`, failed; with `undo`, offers to revert it.
 * Callable from anywhere, without a hook.
 */
export function toast(title: string, options: { tone?: 'bad'; undo?: () => unknown } = {}): void {
  add({ title, tone: 'good', ...options });
}

/** Shows that an action failed, and what to do; for actions without a form. */
export function toastError(error: unknown): void {
  if (error instanceof ApiError && error.calledOff) return;
  add({
    title: error instanceof ApiError ? messageWithoutForm(error) : 'Something went wrong. Try again.',
    tone: 'bad',
  });
  if (!(error instanceof ApiError)) throw error;
}

async function takeBack({ undo }: Toast): Promise<void> {
  try {
    await undo?.();
    announce('Undone');
  } catch (error) {
    toastError(error);
  }
}

/** Where toasts appear. F8 moves the focus there from anywhere. */
export function Toaster() {
  const shown = useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => toasts,
  );
  return (
    <Radix.Provider label="Notification" swipeDirection="right">
      {shown.map((one) => (
        <Radix.Root
          key={one.id}
          duration={one.undo ? 8_000 : one.tone === 'bad' ? 12_000 : 4_500}
          type={one.tone === 'bad' ? 'foreground' : 'background'}
          onOpenChange={(open) => {
            if (!open) setTimeout(() => keep(toasts.filter((other) => other.id !== one.id)), 150);
          }}
          className="appear-toast flex items-center gap-3 rounded-lg bg-ink py-2.5 pr-2 pl-3.5 text-paper shadow-3"
        >
          {one.tone === 'bad' ? (
            <CircleAlert className="size-4.5 shrink-0" aria-hidden />
          ) : (
            <CircleCheck className="size-4.5 shrink-0" aria-hidden />
          )}
          <Radix.Title className="min-w-0 flex-1">{one.title}</Radix.Title>
          {one.undo && (
            <Radix.Action asChild altText="Press F8 to reach Undo.">
              <button
                type="button"
                onClick={() => void takeBack(one)}
                className="rounded-md px-2.5 py-1 font-semibold underline underline-offset-3 hover:bg-paper/15"
              >
                Undo
              </button>
            </Radix.Action>
          )}
          <Radix.Close aria-label="Dismiss" className="grid size-8 place-items-center rounded-md hover:bg-paper/15">
            <X className="size-4" />
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport
        className={cx(
          'fixed inset-x-4 bottom-[calc(4.5rem+env(safe-area-inset-bottom))] z-70 flex flex-col gap-2 sm:left-auto sm:w-96 lg:bottom-5',
          // Above the notice that there is no connection.
          '[:root:has([data-notice])_&]:bottom-[calc(8.75rem+env(safe-area-inset-bottom))] lg:[:root:has([data-notice])_&]:bottom-18',
        )}
      />
    </Radix.Provider>
  );
}
