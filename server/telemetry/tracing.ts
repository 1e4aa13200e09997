/**
 * Traces of what the service does, for OpenTelemetry. Nothing of it is loaded, and nothing is called, unless the configuration
 * asks for traces. Spans carry names of the source, sizes, outcomes and the id of the request: never a parameter, a path as it
 * was asked for, an address, or who asked.
 */

import type { Config } from '../config/config.ts';
import type { TracedRun } from '../database/database.ts';
import type { Logger } from '../lib/log.ts';

type Attributes = Readonly<Record<string, string | number>>;

/** A span that has begun. */
export interface OpenSpan {
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Marks it as failed; `type` is a name of the source or of a standard, never a message. */
  fail(type: string): void;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Attributes;
  /**
   * What it belongs to: the span that is open where it is called (no span is made where none is), nothing (it begins a trace), or
   * what the headers of a request say (W3C Trace Context; nothing where they say nothing).
   */
  readonly below: 'open' | 'nothing' | ((header: 'traceparent' | 'tracestate') => string | undefined);
}

export interface Tracing {
  /** Does the work within a span, which ends with it and fails when it rejects. */
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Makes spans of a run of statements that has just ended, where a span is open. */
  readonly ran: (run: TracedRun) => void;
  /** What a line of the log says of the span that is open. */
  readonly ids: () => object;
  /** Says from now on in this log when spans cannot be sent, at most once a minute. */
  reportTo(log: Logger): void;
  /** Sends what waits, for a few seconds at most, and ends. */
  close(): Promise<void>;
}

/** Begins to trace; null where the configuration asks for none. */
export async function openTracing({ tracing }: Config): Promise<Tracing | null> {
  if (tracing === undefined) return null;
  const { startOpenTelemetry } = await import('./opentelemetry.ts');
  return startOpenTelemetry(tracing);
}

/** What work does that is not traced has no effect. */
export const unseen: OpenSpan = { rename: () => {}, set: () => {}, fail: () => {} };

/** Does the work within a span, or without one where nothing is traced. */
export function traced<T>(tracing: Tracing | null, start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  return tracing === null ? work(unseen) : tracing.span(start, work);
}
