/** Loads what is needed again and again when it is first needed, and keeps it. */

/** Gives what `load` resolves with, loaded by the first call. What failed is not kept: that call rejects, and the next loads it again. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
