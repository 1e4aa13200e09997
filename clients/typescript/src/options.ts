/** What the client and each of its calls can be told. */

export interface DealkeepOptions {
  /** Where the service is: `https://dealkeep.example.com`. */
  readonly url: string;
  /** An API key, `dk_test_…` for the sandbox or `dk_live_…`, or what gives the present one. */
  readonly key: string | (() => string | Promise<string>);
  /** How often a request is sent at most; 4 when not given. */
  readonly attempts?: number;
  /** The most seconds that are waited between two attempts; when the service asks for more, the error is thrown at once. 60 when not given. */
  readonly longestWait?: number;
  /** Milliseconds until an attempt is given up; 30,000 when not given. Uploads have no limit but that of their call. */
  readonly timeout?: number;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds until an attempt of this call is given up, in place of those of the client; of an upload, too. */
  readonly timeout?: number;
}
