/** Caches the holders of tokens, so that requests can be counted before the database is asked. */

/** Maximum number of tokens in the cache. */
const most = 20_000;

export interface TokenHolders<Holder> {
  /** The holder of the token with this digest, if cached. */
  get(digest: Buffer): Holder | undefined;
  set(digest: Buffer, holder: Holder): void;
  /** Removes a token that is no longer valid; a thief who still has it could otherwise use up its holder's limits. */
  forget(digest: Buffer): void;
}

/**
 * Caches the holders of tokens, so that a request can be counted before it is authenticated: the holder of a token
 * never changes. The cache authenticates nobody: every request checks in the database whether its token is still valid.
 */
export function openTokenHolders<Holder>(): TokenHolders<Holder> {
  const holders = new Map<string, Holder>();
  const nameOf = (digest: Buffer) => digest.toString('latin1');
  return {
    get: (digest) => holders.get(nameOf(digest)),
    set(digest, holder) {
      const name = nameOf(digest);
      const [eldest] = holders.keys();
      if (holders.size >= most && eldest !== undefined && !holders.has(name)) holders.delete(eldest);
      holders.set(name, holder);
    },
    forget: (digest) => void holders.delete(nameOf(digest)),
  };
}
