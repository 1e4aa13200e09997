/** Loads a value on first use and keeps it. */

/**
 * Returns a function that resolves to the result of `load`, called once. Failures are not kept: that call rejects, and
 * the next one loads again.
 */
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
