/**
 * Loads the SDK's part (sdk.ts), which answers all but plain calls: with the first message that needs it, or earlier,
 * so that no caller waits.
 */

type Sdk = typeof import('./sdk.ts');

let loaded: Sdk | null = null;

/** Loads the SDK's part once. */
export const loadSdk = async (): Promise<Sdk> => (loaded ??= await import('./sdk.ts'));

/** The SDK's part if it has been loaded, otherwise null. */
export const loadedSdk = (): Sdk | null => loaded;
