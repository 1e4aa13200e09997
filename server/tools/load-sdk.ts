/** Loads what answers all but plain calls (sdk.ts): with the first that asks for it, or before, so that no caller waits. */

type Sdk = typeof import('./sdk.ts');

let loaded: Sdk | null = null;

/** Loads it, once. */
export const loadSdk = async (): Promise<Sdk> => (loaded ??= await import('./sdk.ts'));

/** It, where it is loaded. */
export const loadedSdk = (): Sdk | null => loaded;
