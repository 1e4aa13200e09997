/** What a process reports while it runs: the log and, if configured, traces. */

import type { Config } from '../config/config.ts';
import { createLog, type Logger } from '../lib/log.ts';
import { openTracing, type Tracing } from '../telemetry/tracing.ts';

export interface Telemetry {
  /** The log; each line names the trace and the span that it belongs to. */
  readonly log: Logger;
  readonly tracing: Tracing | null;
}

/** Opens the log and, if configured, the traces. */
export async function openTelemetry(config: Config): Promise<Telemetry> {
  const tracing = await openTracing(config);
  const log = createLog(config.logLevel, undefined, tracing?.ids);
  tracing?.reportTo(log);
  return { log, tracing };
}
