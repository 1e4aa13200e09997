/** Sends orders to the load generator's process. */

import { fork } from 'node:child_process';
import path from 'node:path';

/** Requests to send to a port. Orders with the same label add up to one outcome. */
export interface Order {
  readonly label: string;
  readonly port: number;
  /** Whole HTTP requests, sent in rotation. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Seconds before responses are counted. */
  readonly warmUp: number;
  /** Status required of every response. */
  readonly expect: number;
  /**
   * Whether the generator never sleeps, so that no time is spent on waking it; for a generator with its own processor.
   * Optional.
   */
  readonly staysAwake?: boolean;
}

/** Responses per second, and milliseconds until a response is complete. */
export interface Outcome {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** All responses to this order, including the warm-up's. */
  readonly answers: number;
}

export interface Generator {
  /** Carries out an order; rejects when a response has another status than expected. */
  send(order: Order): Promise<Outcome>;
  stop(): void;
}

/** Starts the generator's process, which carries out one order after the other. */
export function startGenerator(): Generator {
  const child = fork(path.join(import.meta.dirname, 'generator.ts'), { stdio: 'inherit' });
  return {
    send: (order) =>
      new Promise((resolve, reject) => {
        child.once('message', (answer: { outcome?: Outcome; error?: string }) => {
          if (answer.outcome) resolve(answer.outcome);
          else reject(new Error(answer.error));
        });
        child.send(order);
      }),
    stop: () => child.disconnect(),
  };
}

/** Returns the text of an HTTP request. */
export function request(method: string, target: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const length =
    body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: 'localhost', ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [`${method} ${target} HTTP/1.1`, ...lines, '', body].join('\r\n');
}
