/** What a process that answers requests (a worker) and the one that started it say to each other. */

import type { ClientConfig } from 'pg';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** The counters of one process, as prom-client tells and adds them up. */
export type Counters = readonly MetricObjectWithValues<MetricValue<string>>[];

export type ToWorker =
  /** The database to use and the port to listen on; until `answer` everything is refused as by a service that starts. */
  | { readonly to: 'listen'; readonly connection: ClientConfig; readonly port: number }
  /** Answer requests; the port, as the system chose it, is part of our address. */
  | { readonly to: 'answer'; readonly port: number }
  /** Both, the port last of all: nobody is led to a worker that cannot answer yet. `address` is the port as the system chose it. */
  | { readonly to: 'serve'; readonly connection: ClientConfig; readonly port: number; readonly address: number }
  /** Be not ready any more, and close each connection with its next answer. */
  | { readonly to: 'leave' }
  /** Finish the requests in flight and end. */
  | { readonly to: 'stop' }
  | { readonly to: 'tell counters'; readonly id: number }
  /** The answer to `metrics wanted`. */
  | { readonly to: 'take metrics'; readonly id: number; readonly text: string };

export type FromWorker =
  /** It takes messages now. */
  | { readonly is: 'started' }
  | { readonly is: 'listening'; readonly port: number }
  | { readonly is: 'answering'; readonly port: number }
  /** It cannot go on, and ends. */
  | { readonly is: 'failed'; readonly message: string }
  | { readonly is: 'counters'; readonly id: number; readonly counters: Counters }
  | { readonly is: 'metrics wanted'; readonly id: number };
