/**
 * Which traces are recorded and where they are sent, from the standard variables of OpenTelemetry (Environment Variable
 * Specification 1.x).
 */

/** The parsed variables; undefined when not set. */
interface TracingVariables {
  readonly OTEL_SDK_DISABLED: boolean;
  readonly OTEL_TRACES_EXPORTER: 'otlp' | 'none' | undefined;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string | undefined;
  readonly OTEL_EXPORTER_OTLP_PROTOCOL: Protocol | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: Protocol | undefined;
  readonly OTEL_EXPORTER_OTLP_HEADERS: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_HEADERS: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TIMEOUT: number | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: number | undefined;
  readonly OTEL_SERVICE_NAME: string | undefined;
  readonly OTEL_RESOURCE_ATTRIBUTES: string | undefined;
  readonly OTEL_TRACES_SAMPLER: SamplerName | undefined;
  readonly OTEL_TRACES_SAMPLER_ARG: number | undefined;
  readonly OTEL_BSP_SCHEDULE_DELAY: number | undefined;
  readonly OTEL_BSP_MAX_QUEUE_SIZE: number | undefined;
  readonly OTEL_BSP_MAX_EXPORT_BATCH_SIZE: number | undefined;
}

export const protocols = ['http/protobuf', 'http/json', 'grpc'] as const;
export type Protocol = (typeof protocols)[number];

export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type SamplerName = (typeof samplerNames)[number];

export interface TracingConfig {
  /** The URL to which spans are posted. */
  readonly url: string;
  readonly asJson: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds before a request to the collector times out. */
  readonly timeoutMillis: number;
  /**
   * Milliseconds between exports, maximum number of queued spans (further ones are dropped), and maximum number of
   * spans per export.
   */
  readonly delayMillis: number;
  readonly queueSize: number;
  readonly batchSize: number;
  readonly sampler: {
    /** Whether the sampling decision of a caller with a trace of its own applies. */
    readonly followsParent: boolean;
    /** The fraction of the other traces that is recorded: 0 to 1. */
    readonly ratio: number;
  };
  /** The resource attributes of this service. */
  readonly resource: Readonly<Record<string, string>>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses `a=1,b=two%20words`, the format of headers and resource attributes. Entries without a name are ignored. */
function pairsOf(text = ''): Record<string, string> {
  const pairs = text.split(',').map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair));
  return Object.fromEntries(pairs.flatMap((pair) => (pair ? [[pair[1] ?? '', decoded(pair[2] ?? '')]] : [])));
}

function samplerOf(name: SamplerName, ratio: number): TracingConfig['sampler'] {
  const ratios = { always_on: 1, always_off: 0, traceidratio: ratio } as const;
  const root = name.replace('parentbased_', '') as keyof typeof ratios;
  return { followsParent: root !== name, ratio: ratios[root] };
}

/**
 * The configuration in the variables; undefined when tracing is not configured. Adds unsupported settings to `faults`.
 */
export function tracingOf(given: TracingVariables, faults: string[]): TracingConfig | undefined {
  const base = given.OTEL_EXPORTER_OTLP_ENDPOINT;
  const own = given.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const isWanted = given.OTEL_TRACES_EXPORTER === 'otlp' || own !== undefined || base !== undefined;
  if (!isWanted || given.OTEL_SDK_DISABLED || given.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const protocol = given.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? given.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  if (protocol === 'grpc') {
    const name = given.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL
      ? 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'
      : 'OTEL_EXPORTER_OTLP_PROTOCOL';
    faults.push(
      `${name} is grpc; traces are sent by http/protobuf or http/json: set one of them and the port for HTTP (4318), or OTEL_TRACES_EXPORTER=none.`,
    );
  }
  const queueSize = given.OTEL_BSP_MAX_QUEUE_SIZE ?? 2_048;
  return {
    url: own ?? `${(base ?? 'http://localhost:4318').replace(/\/+$/, '')}/v1/traces`,
    asJson: protocol === 'http/json',
    headers: pairsOf(given.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? given.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: given.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? given.OTEL_EXPORTER_OTLP_TIMEOUT ?? 10_000,
    delayMillis: given.OTEL_BSP_SCHEDULE_DELAY ?? 5_000,
    queueSize,
    batchSize: Math.min(given.OTEL_BSP_MAX_EXPORT_BATCH_SIZE ?? 512, queueSize),
    sampler: samplerOf(given.OTEL_TRACES_SAMPLER ?? 'parentbased_always_on', given.OTEL_TRACES_SAMPLER_ARG ?? 1),
    resource: {
      'service.name': 'dealkeep',
      ...pairsOf(given.OTEL_RESOURCE_ATTRIBUTES),
      ...(given.OTEL_SERVICE_NAME && { 'service.name': given.OTEL_SERVICE_NAME }),
    },
  };
}
