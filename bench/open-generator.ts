/**
 * The load generator for more requests than the server can answer, a process of its own: sends at a fixed rate, whether
 * or not responses arrive, over as many keep-alive connections as that takes. A request's time counts from when it was
 * due.
 */

import { connect, type Socket } from 'node:net';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { OpenOrder, OpenOutcome } from './overload.ts';

/** Milliseconds after which due requests are sent. */
const tick = 2;

interface Line {
  readonly socket: Socket;
  /** When the pending request was due; null without one. */
  due: number | null;
  waiting: Buffer;
}

const headEnd = Buffer.from('\r\n\r\n');
const lengthName = Buffer.from('ength: ');

/** Returns the status of the response if the bytes contain it completely, otherwise null. */
function statusOf(bytes: Buffer): number | null {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return null;
  const at = bytes.indexOf(lengthName);
  const length = at < 0 ? undefined : /^ength: (\d+)/i.exec(bytes.toString('latin1', at, at + 40))?.[1];
  if (length === undefined) return bytes.subarray(-5).toString('latin1') === '0\r\n\r\n' ? codeOf(bytes) : null;
  return bytes.length >= end + 4 + Number(length) ? codeOf(bytes) : null;
}
const codeOf = (bytes: Buffer): number => Number(bytes.toString('latin1', 9, 12));

async function measure(order: OpenOrder): Promise<OpenOutcome> {
  const { port, requests, rate, connections, seconds, warmUp, staysAwake } = order;
  const buffers = requests.map((request) => Buffer.from(request));
  const served = createHistogram();
  const refused = createHistogram();
  const idle: Line[] = [];
  const lines = new Set<Line>();
  const others: Record<string, number> = {};
  const answers = { served: 0, refused: 0 };
  const begin = performance.now();
  const from = begin + warmUp * 1000;
  const until = from + seconds * 1000;
  let sent = 0;
  let unsent = 0;
  let broken = 0;

  function record(histogram: RecordableHistogram, due: number): void {
    histogram.record(Math.max(1, Math.round((performance.now() - due) * 1e6)));
  }
  function answered(line: Line, status: number): void {
    const { due } = line;
    line.due = null;
    idle.push(line);
    if (status === 200) answers.served += 1;
    else if (status === 503) answers.refused += 1;
    if (due === null || due < from || due > until) return;
    if (status === 200) record(served, due);
    else if (status === 503) record(refused, due);
    else others[status] = (others[status] ?? 0) + 1;
  }
  function open(due: number, request: Buffer): void {
    const socket = connect(port, '127.0.0.1').setNoDelay();
    const line: Line = { socket, due, waiting: Buffer.alloc(0) };
    lines.add(line);
    socket.on('data', (chunk: Buffer) => {
      line.waiting = line.waiting.length === 0 ? chunk : Buffer.concat([line.waiting, chunk]);
      const status = statusOf(line.waiting);
      if (status === null) return;
      line.waiting = Buffer.alloc(0);
      answered(line, status);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (line.due !== null && performance.now() < until) broken += 1;
      line.due = null;
      lines.delete(line);
    });
    socket.write(request);
  }
  function sendDue(now: number): void {
    const dueNow = Math.floor(((now - begin) / 1000) * rate);
    for (; sent < dueNow; sent += 1) {
      const due = begin + (sent / rate) * 1000;
      const request = buffers[sent % buffers.length] as Buffer;
      let line = idle.pop();
      while (line && !lines.has(line)) line = idle.pop();
      if (line) {
        line.due = due;
        line.socket.write(request);
      } else if (lines.size < connections) open(due, request);
      else if (due >= from) unsent += 1;
    }
  }
  const pause = () => new Promise((resolve) => void (staysAwake ? setImmediate(resolve) : setTimeout(resolve, tick)));
  for (let now = begin; now < until; now = performance.now()) {
    sendDue(now);
    await pause();
  }
  // Pending requests get at most 20 more seconds.
  const end = performance.now() + 20_000;
  while (lines.values().some(({ due }) => due !== null) && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const hanging = [...lines].filter(({ due }) => due !== null).length;
  for (const { socket } of lines) socket.destroy();
  const summaryOf = (histogram: RecordableHistogram) => ({
    rate: histogram.count / seconds,
    p50: histogram.percentile(50) / 1e6,
    p99: histogram.percentile(99) / 1e6,
  });
  return { served: summaryOf(served), refused: summaryOf(refused), others, unsent, broken, hanging, answers };
}

process.on('message', (order: OpenOrder) => {
  void measure(order).then((outcome) => process.send?.(outcome));
});
