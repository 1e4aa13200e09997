/** What a process that answers requests (a worker) and the one that started it say to each other. */

import type { ClientConfig } from 'pg';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** The counters of one process, as prom-client reads and adds them up. */
export type Counters = readonly MetricObjectWithValues<MetricValue<string>>[];

export type ToWorker =
  /** The database to use, and the port of the service; until `answer` everything is refused as by a service that starts. */
  | { readonly to: 'listen'; readonly connection: ClientConfig; readonly port: number }
  /** Answer requests. */
  | { readonly to: 'answer' }
  /** Take the connection that comes with it; `took` is the answer, and the next comes after that. */
  | { readonly to: 'take' }
  /** Be not ready any more, and close each connection with its next answer. */
  | { readonly to: 'leave' }
  /** Finish the requests in flight and end. */
  | { readonly to: 'stop' }
  | { readonly to: 'send counters'; readonly id: number }
  /** The answer to `metrics wanted`. */
  | { readonly to: 'take metrics'; readonly id: number; readonly text: string };

export type FromWorker =
  /** It takes messages now. */
  | { readonly is: 'started' }
  | { readonly is: 'listening' }
  | { readonly is: 'answering' }
  /** Whether it took the connection, of which it has read nothing if not. */
  | { readonly is: 'took'; readonly took: boolean }
  /** It cannot go on, and ends. */
  | { readonly is: 'failed'; readonly message: string }
  | { readonly is: 'counters'; readonly id: number; readonly counters: Counters }
  | { readonly is: 'metrics wanted'; readonly id: number };
