/** Messages between a process that answers requests (a worker) and the process that started it. */

import type { ClientConfig } from 'pg';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** The counters of one process, in the form that prom-client reads and aggregates. */
export type Counters = readonly MetricObjectWithValues<MetricValue<string>>[];

export type ToWorker =
  /** Database to use, and port of the service; until `answer` every request is refused as by a starting service. */
  | { readonly to: 'listen'; readonly connection: ClientConfig; readonly port: number }
  /** Start answering requests. */
  | { readonly to: 'answer' }
  /**
   * Accept the connection sent with this message; the worker replies with `took`, and the next connection comes after
   * that.
   */
  | { readonly to: 'take' }
  /** Report not ready, and close each connection after its next response. */
  | { readonly to: 'leave' }
  /** Finish the requests in flight and end. */
  | { readonly to: 'stop' }
  | { readonly to: 'send counters'; readonly id: number }
  /** The reply to `metrics wanted`. */
  | { readonly to: 'take metrics'; readonly id: number; readonly text: string };

export type FromWorker =
  /** The worker is ready to receive messages. */
  | { readonly is: 'started' }
  | { readonly is: 'listening' }
  | { readonly is: 'answering' }
  /** Whether the connection was accepted; nothing has been read from it otherwise. */
  | { readonly is: 'took'; readonly took: boolean }
  /** The worker cannot continue, and ends. */
  | { readonly is: 'failed'; readonly message: string }
  | { readonly is: 'counters'; readonly id: number; readonly counters: Counters }
  | { readonly is: 'metrics wanted'; readonly id: number };
