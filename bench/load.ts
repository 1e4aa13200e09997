/** Orders load from the generator's process. */

import { fork } from 'node:child_process';
import path from 'node:path';

/** What to send where. Orders with the same label add up to one outcome. */
export interface Order {
  readonly label: string;
  readonly port: number;
  /** Whole HTTP requests, sent in turn. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Seconds before it counts. */
  readonly warmUp: number;
  /** The status that every answer must have. */
  readonly expect: number;
  /** Whether the generator never sleeps, so that nobody spends time on waking it: where it has a processor for itself. */
  readonly staysAwake?: boolean;
}

/** Answers a second, and milliseconds until one is whole. */
export interface Outcome {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** All answers to this order, also those of the warm-up. */
  readonly answers: number;
}

export interface Generator {
  /** Rejects when an answer had another status than expected. */
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

/** A request as it goes over the wire. */
export function request(method: string, target: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const length =
    body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: 'localhost', ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [`${method} ${target} HTTP/1.1`, ...lines, '', body].join('\r\n');
}
