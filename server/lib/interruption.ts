/** What is undone before a signal ends a command. The service listens for signals itself (cli/run.ts). */

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
 * Has `undo` done before a signal ends this process, what was given last first, unless something else listens for that signal.
 * The returned function takes it back.
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

/** Does not resolve once a signal ends this process: nothing more is begun then, and no failure that it causes is told. */
export const unlessInterrupted = (): Promise<void> => (isEnding ? new Promise(() => {}) : Promise.resolve());
