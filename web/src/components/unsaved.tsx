import { useBlocker } from '@tanstack/react-router';
import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';
import { isUploading } from '../api/document-uploads.ts';
import { anythingUnsaved, formsIn, isLeaving } from '../lib/unsaved.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';

/** Asks whether to discard unsaved input; resolves to true if so. */
type AskDiscard = () => Promise<boolean>;

const AskDiscardContext = createContext<AskDiscard | null>(null);

/** Asks before unsaved input is lost by navigating or closing the tab, and provides {@link useAskDiscard}. */
export function UnsavedProvider({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const asked = useRef<PromiseWithResolvers<boolean> | null>(null);
  /** Counts the moves through the browser's history. */
  const moves = useRef(0);
  const settle = (discard: boolean) => {
    asked.current?.resolve(discard);
    asked.current = null;
    setOpen(false);
  };
  const ask = useCallback<AskDiscard>(() => {
    asked.current ??= Promise.withResolvers<boolean>();
    setOpen(true);
    return asked.current.promise;
  }, []);
  useBlocker({
    shouldBlockFn: async ({ current, next, action }) => {
      const isMove = action !== 'PUSH' && action !== 'REPLACE';
      const move = isMove ? (moves.current += 1) : null;
      const stays =
        current.pathname === next.pathname && JSON.stringify(current.search) === JSON.stringify(next.search);
      if (stays || !anythingUnsaved()) {
        // Forward, while the question about Back is open, leads to where the person still is.
        if (isMove) settle(false);
        return false;
      }
      const discard = await ask();
      // When Back is pressed again during the question, the router counts the second move from the page still shown:
      // if both were answered, it would take back three steps instead of two.
      if (move !== null && move !== moves.current) return new Promise<boolean>(() => {});
      if (!discard) return true;
      for (const form of formsIn()) if (form.dirty) form.discard();
      return false;
    },
    enableBeforeUnload: () => anythingUnsaved() || (isUploading() && !isLeaving()),
  });
  return (
    <AskDiscardContext value={ask}>
      {children}
      <ConfirmDialog
        open={open}
        onOpenChange={(next) => !next && settle(false)}
        onConfirm={() => settle(true)}
        title="Discard your changes?"
        body="They have not been saved."
        action="Discard"
        cancel="Keep editing"
        danger
      />
    </AskDiscardContext>
  );
}

/** Returns `askDiscard()`, which asks whether to discard unsaved input. */
export function useAskDiscard(): AskDiscard {
  const ask = useContext(AskDiscardContext);
  if (!ask) throw new Error('useAskDiscard needs an UnsavedProvider above it');
  return ask;
}
