/** What a process reports while it runs: the log, and traces where they are asked for. */

import type { Config } from '../config/config.ts';
import { createLog, type Logger } from '../lib/log.ts';
import { openTracing, type Tracing } from '../telemetry/tracing.ts';

export interface Telemetry {
  /** Each line of it names the trace and the span that it belongs to. */
  readonly log: Logger;
  readonly tracing: Tracing | null;
}

/** Opens both. */
export async function openTelemetry(config: Config): Promise<Telemetry> {
  const tracing = await openTracing(config);
  const log = createLog(config.logLevel, undefined, tracing?.ids);
  tracing?.reportTo(log);
  return { log, tracing };
}
