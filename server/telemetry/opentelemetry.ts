/**
 * Traces with OpenTelemetry's own SDK, sent by OTLP over HTTP. Only tracing.ts loads this file, when the configuration
 * asks for traces.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Span } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracedRun } from '../database/database.ts';
import type { Logger } from '../lib/log.ts';
import { version } from './metrics.ts';
import type { TracingConfig } from '../config/tracing.ts';
import { unseen, type OpenSpan, type SpanStart, type Tracing } from './tracing.ts';

/** Limits of one span: at most this many attributes, and characters of each. */
const limits = { attributeCountLimit: 32, attributeValueLengthLimit: 4_096, eventCountLimit: 0, linkCountLimit: 0 };
/** At most this many statements of one run get a span of their own. */
const mostStatements = 64;
/**
 * In milliseconds: the minimum time between two log lines about spans that cannot be sent, and how long shutdown waits
 * for the last spans.
 */
const millis = { said: 60_000, end: 5_000 } as const;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** The type of an error: its SQLSTATE or other code, otherwise the name of its class. */
function typeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return error instanceof Error ? error.name : 'unknown';
}

function fail(span: Span, type: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttribute('error.type', type);
}

/**
 * Added to `performance.now()` to get the wall-clock time; corrected when the system clock was set, which
 * `performance.now()` does not follow.
 */
let offset = performance.timeOrigin;
/** A time of `performance.now()`, by default the current one, in fractional milliseconds since 1970. */
function instant(at = performance.now()): number {
  const drift = Date.now() - (offset + performance.now());
  if (Math.abs(drift) > 50) offset += drift;
  return offset + at;
}

function providerOf({ sampler, resource, ...config }: TracingConfig): TracerProvider {
  const { url, headers, timeoutMillis } = config;
  const Exporter = config.asJson ? JsonExporter : ProtobufExporter;
  const root = new TraceIdRatioBasedSampler(sampler.ratio);
  // Batches are exported one at a time, but at shutdown all of a full queue concurrently.
  const concurrencyLimit = Math.ceil(config.queueSize / config.batchSize) + 1;
  return new TracerProvider({
    resource: resourceFromAttributes({ 'service.version': version, ...resource }),
    sampler: sampler.followsParent ? new ParentBasedSampler({ root }) : root,
    spanLimits: limits,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new Exporter({ url, headers: { ...headers }, timeoutMillis, concurrencyLimit }),
        scheduledDelayMillis: config.delayMillis,
        maxQueueSize: config.queueSize,
        maxExportBatchSize: config.batchSize,
        exportTimeoutMillis: timeoutMillis + 1_000,
      }),
    ],
  });
}

/** Starts tracing as configured. */
export function startOpenTelemetry(config: TracingConfig): Tracing {
  const provider = providerOf(config);
  const tracer = provider.getTracer('dealkeep', version);
  const propagator = new W3CTraceContextPropagator();
  const open = new AsyncLocalStorage<Span>();

  /** The parent context of a span; null when no span is to be made. */
  function parentOf(below: SpanStart['below']) {
    if (below === 'nothing') return ROOT_CONTEXT;
    if (below !== 'open') {
      const get = (_carrier: unknown, key: string) => below(key as 'traceparent' | 'tracestate');
      return propagator.extract(ROOT_CONTEXT, null, { get, keys: () => [] });
    }
    const present = open.getStore();
    return present?.isRecording() ? trace.setSpan(ROOT_CONTEXT, present) : null;
  }

  const statement = (name: string, text: string) => ({
    'db.system.name': 'postgresql',
    'db.query.summary': name,
    // The text has $1 for each parameter: texts of statements are constants in the source.
    'db.query.text': text,
  });

  /**
   * Makes one span for the round trip to the database, and when it ran several statements, a child span for each of
   * them.
   */
  function ran({ name, statements, sent, ended, waited, answered, error }: TracedRun): void {
    const parent = parentOf('open');
    if (parent === null) return;
    const [only, ...others] = statements;
    const span = tracer.startSpan(
      name,
      {
        kind: SpanKind.CLIENT,
        startTime: instant(sent),
        attributes: {
          ...(only && others.length === 0
            ? statement(name, only.text)
            : {
                'db.system.name': 'postgresql',
                'db.query.summary': name,
                'db.operation.batch.size': statements.length,
              }),
          ...(waited > 0 && { 'dealkeep.database.waited_ms': Math.round(waited) }),
        },
      },
      parent,
    );
    if (error !== undefined) {
      fail(span, typeOf(error));
      if (/^[0-9A-Z]{5}$/.test(typeOf(error))) span.setAttribute('db.response.status_code', typeOf(error));
    }
    if (others.length > 0) {
      const trip = trace.setSpan(ROOT_CONTEXT, span);
      let began = sent;
      for (const [nth, one] of statements.slice(0, mostStatements).entries()) {
        const endTime = answered[nth];
        const attributes = statement(one.name, one.text);
        const part = tracer.startSpan(one.name, { kind: SpanKind.CLIENT, startTime: instant(began), attributes }, trip);
        // The first statement without an answer is the one that failed; those after it were not run.
        if (endTime === undefined && error !== undefined) fail(part, typeOf(error));
        part.end(instant(endTime ?? ended));
        if (endTime === undefined) break;
        began = endTime;
      }
    }
    span.end(instant(ended));
  }

  async function within<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
    const parent = parentOf(start.below);
    if (parent === null) return work(unseen);
    const { name, kind, attributes = {} } = start;
    const span = tracer.startSpan(
      name,
      { kind: kinds[kind], startTime: instant(), attributes: { ...attributes } },
      parent,
    );
    try {
      return await open.run(span, () =>
        work({
          rename: (other) => void span.updateName(other),
          set: (more) => void span.setAttributes({ ...more }),
          fail: (type) => fail(span, type),
        }),
      );
    } catch (error) {
      fail(span, typeOf(error));
      throw error;
    } finally {
      span.end(instant());
    }
  }

  let log: Logger | undefined;
  let saidAt = -Infinity;
  function complain(reason: string): void {
    if (log === undefined || performance.now() - saidAt < millis.said) return;
    saidAt = performance.now();
    log.warn({ reason: reason.slice(0, 300) }, 'some or all traces could not be sent');
  }
  const ignore = () => {};
  diag.setLogger(
    { error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore },
    {
      logLevel: DiagLogLevel.WARN,
      suppressOverrideMessage: true,
    },
  );
  setGlobalErrorHandler((error) => complain(error instanceof Error ? error.message : String(error)));

  return {
    span: within,
    ran,
    ids() {
      const context = open.getStore()?.spanContext();
      return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
    },
    reportTo: (to) => void (log = to),
    async close() {
      const sent = provider.shutdown().catch((error: unknown) => complain(String(error)));
      await Promise.race([sent, wait(millis.end, undefined, { ref: false })]);
    },
  };
}
