/**
 * The load generator, a process of its own: sends requests over keep-alive connections, one after the other on each.
 */

import { connect, type Socket } from 'node:net';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Order, Outcome } from './load.ts';

interface Tally {
  readonly latencies: RecordableHistogram;
  count: number;
  seconds: number;
}

const tallies = new Map<string, Tally>();

/** Finds the end of each response in the data of a socket, by its length or its last chunk. */
class Answers {
  #waiting: Buffer = Buffer.alloc(0);

  /** Returns the status of the next complete response; null while it is incomplete. */
  next(chunk: Buffer): number | null {
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    const headEnd = this.#waiting.indexOf('\r\n\r\n');
    if (headEnd < 0) return null;
    const head = this.#waiting.toString('latin1', 0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const whole =
      length === undefined
        ? this.#waiting.subarray(-5).toString('latin1') === '0\r\n\r\n'
        : this.#waiting.length >= headEnd + 4 + Number(length);
    if (!whole) return null;
    this.#waiting = Buffer.alloc(0);
    return Number(head.slice(9, 12));
  }
}

/** Sends requests over one connection until `until`; calls `done` for each response. */
function drive(socket: Socket, next: () => Buffer, until: number, done: (nanoseconds: number, status: number) => void) {
  return new Promise<void>((resolve, reject) => {
    const answers = new Answers();
    let sent = 0n;
    const send = () => {
      sent = process.hrtime.bigint();
      socket.write(next());
    };
    socket.on('data', (chunk) => {
      const status = answers.next(chunk);
      if (status === null) return;
      done(Number(process.hrtime.bigint() - sent), status);
      if (performance.now() < until) send();
      else {
        socket.destroy();
        resolve();
      }
    });
    socket.once('error', reject);
    socket.once('end', () => reject(new Error('The server closed a connection.')));
    socket.once('connect', send);
  });
}

async function measure(order: Order): Promise<Outcome> {
  const { label, port, requests, connections, seconds, warmUp, expect, staysAwake } = order;
  const buffers = requests.map((request) => Buffer.from(request));
  let turn = Math.floor(Math.random() * buffers.length);
  const next = () => buffers[(turn = (turn + 1) % buffers.length)] as Buffer;
  const tally = tallies.get(label) ?? { latencies: createHistogram(), count: 0, seconds: 0 };
  tallies.set(label, tally);
  const from = performance.now() + warmUp * 1000;
  const until = from + seconds * 1000;
  const unexpected = new Map<number, number>();
  let answers = 0;
  const stayAwake = () => performance.now() < until && void setImmediate(stayAwake);
  if (staysAwake) stayAwake();
  await Promise.all(
    Array.from({ length: connections }, () =>
      drive(connect(port, '127.0.0.1').setNoDelay(), next, until, (nanoseconds, status) => {
        answers += 1;
        if (status !== expect) unexpected.set(status, (unexpected.get(status) ?? 0) + 1);
        if (performance.now() < from) return;
        tally.latencies.record(Math.max(1, nanoseconds));
        tally.count += 1;
      }),
    ),
  );
  tally.seconds += seconds;
  const faults = [...unexpected].map(([status, times]) => `${times} answers had status ${status}`);
  if (faults.length > 0) throw new Error(`${label}: ${faults.join(', ')} instead of ${expect}.`);
  return {
    rate: tally.count / tally.seconds,
    p50: tally.latencies.percentile(50) / 1e6,
    p99: tally.latencies.percentile(99) / 1e6,
    answers,
  };
}

process.on('message', (order: Order) => {
  measure(order).then(
    (outcome) => process.send?.({ outcome }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
