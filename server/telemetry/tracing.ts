/**
 * Traces of the service for OpenTelemetry. No code of the SDK is loaded or called unless the configuration asks for
 * traces. Spans carry names from the source, sizes, outcomes and the request id: never a parameter, a requested path,
 * an address, or the caller.
 */

import type { Config } from '../config/config.ts';
import type { TracedRun } from '../database/database.ts';
import type { Logger } from '../lib/log.ts';

type Attributes = Readonly<Record<string, string | number>>;

/** A started span. */
export interface OpenSpan {
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Marks the span as failed; `type` is a name from the source or from a standard, never a message. */
  fail(type: string): void;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Attributes;
  /**
   * The parent of the span: the span that is open at the call (without one, no span is made), nothing (the span begins
   * a trace), or the headers of a request (W3C Trace Context; without them the span begins a trace).
   */
  readonly below: 'open' | 'nothing' | ((header: 'traceparent' | 'tracestate') => string | undefined);
}

export interface Tracing {
  /** Runs the work within a span, which ends with the work and fails when it rejects. */
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Makes spans for a run of statements that has just ended, if a span is open. */
  readonly ran: (run: TracedRun) => void;
  /** The ids of the open span for a log line. */
  readonly ids: () => object;
  /** From now on, logs to this log when spans cannot be sent, at most once a minute. */
  reportTo(log: Logger): void;
  /** Sends the spans that wait, for a few seconds at most, and ends tracing. */
  close(): Promise<void>;
}

/** Starts tracing; null when the configuration does not ask for traces. */
export async function openTracing({ tracing }: Config): Promise<Tracing | null> {
  if (tracing === undefined) return null;
  const { startOpenTelemetry } = await import('./opentelemetry.ts');
  return startOpenTelemetry(tracing);
}

/** The span given to work that is not traced: its methods do nothing. */
export const unseen: OpenSpan = { rename: () => {}, set: () => {}, fail: () => {} };

/** Runs the work within a span, or without one when tracing is off. */
export function traced<T>(tracing: Tracing | null, start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  return tracing === null ? work(unseen) : tracing.span(start, work);
}
