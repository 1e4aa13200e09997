/**
 * Returns a function that runs `work`, never twice concurrently; when called while it runs, `work` runs once more
 * afterwards.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let isWanted = false;
  let running: Promise<void> | undefined;
  return () => {
    isWanted = true;
    running ??= (async () => {
      try {
        while (isWanted) {
          isWanted = false;
          await work();
        }
      } finally {
        running = undefined;
      }
    })();
    return running;
  };
}
