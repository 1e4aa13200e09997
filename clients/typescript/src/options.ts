/** Options of the client and of each call. */

export interface DealkeepOptions {
  /** Origin of the service: `https://dealkeep.example.com`. */
  readonly url: string;
  /** An API key, `dk_test_…` for the sandbox or `dk_live_…`, or a function that returns the current one. */
  readonly key: string | (() => string | Promise<string>);
  /** Maximum number of attempts for each request; default 4. */
  readonly attempts?: number;
  /** Maximum wait between two attempts, in seconds; if the service asks for more, the error is thrown at once. Default 60. */
  readonly longestWait?: number;
  /** Time limit of each attempt, in milliseconds; default 30,000. Uploads, and files while they arrive, have no limit unless the call sets one. */
  readonly timeout?: number;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  /** Cancels the call, including its retries. */
  readonly signal?: AbortSignal;
  /** Time limit of each attempt of this call, in milliseconds, instead of the client's; also applies to uploads and to files while they arrive. */
  readonly timeout?: number;
}
