/** Remembers whose token was whose, so that requests can be counted before the database is asked. */

/** The most tokens whose holders are remembered. */
const most = 20_000;

export interface TokenHolders<Holder> {
  /** Whose token has this digest, as far as it is remembered. */
  get(digest: Buffer): Holder | undefined;
  set(digest: Buffer, holder: Holder): void;
  /** Of a token that is no longer valid: or a thief who still has it could use up what its holder may do. */
  forget(digest: Buffer): void;
}

/**
 * Remembers whose token was whose, so that a request can be counted before it is authenticated: a token never changes hands. It admits
 * nobody: whether the token is still good is asked with every request.
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
