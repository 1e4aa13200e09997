/** Cleanup before a signal ends a command. The service handles signals itself (cli/run.ts). */

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const undoings = new Set<() => Promise<void>>();
let isEnding = false;

function stopListening(): void {
  for (const signal of signals) process.off(signal, end);
}

async function end(signal: NodeJS.Signals): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  for (const undo of [...undoings].toReversed()) await undo().catch(() => {});
  stopListening();
  process.kill(process.pid, signal);
}

/**
 * Registers `undo` to run before a signal ends this process, last registered first, unless something else listens for
 * that signal. The returned function unregisters it.
 */
export function undoneBySignal(undo: () => Promise<void>): () => void {
  if (undoings.size === 0)
    for (const signal of signals) if (process.listenerCount(signal) === 0) process.on(signal, end);
  undoings.add(undo);
  return () => {
    undoings.delete(undo);
    if (undoings.size === 0 && !isEnding) stopListening();
  };
}

/**
 * Never resolves once a signal is ending this process, so that no further work begins and no resulting failure is
 * reported.
 */
export const unlessInterrupted = (): Promise<void> => (isEnding ? new Promise(() => {}) : Promise.resolve());
