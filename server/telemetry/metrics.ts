/**
 * Metrics that a process collects about itself, for /metrics. Each label takes its values from a list in the source
 * (templates of routes, names of tools, jobs, limits and statements), so no request can create a new series.
 */

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import about from '../../package.json' with { type: 'json' };
import type { LimitKind } from '../config/config.ts';
import type { RunTimes } from '../database/database.ts';

/** The version of this release. */
export const version: string = about.version;

/**
 * The outcome of a tool call: `refused` is for the caller to correct, `failed` is an error of the server or the
 * database.
 */
export type ToolOutcome = 'ok' | 'refused' | 'failed';

export interface ServiceMetrics {
  readonly registry: Registry;
  /** Counts one run of statements, under the name of the statement that it was made for. */
  ran(times: RunTimes): void;
  /** Counts a call of a tool in the catalog. */
  toolCalled(tool: string, outcome: ToolOutcome, seconds: number): void;
  /** Counts a run of a scheduled job that ended at `now`. */
  jobRan(job: string, succeeded: boolean, seconds: number, now: Date): void;
  /** Counts an attempt to hand a mail over to the mail server. */
  mailTried(outcome: 'sent' | 'failed'): void;
  /** Counts a request beyond a limit. */
  limited(kind: LimitKind): void;
  /** The number of open streams of changes. */
  readonly streams: { inc(): void; dec(): void };
}

/**
 * Notes are counted in groups of this size: with the code that counts them still in the CPU's caches, each takes a
 * fraction of the time.
 */
const countedTogether = 64;

/**
 * Gathers notes that are to be counted. `count` is called for each once there are many, and when the counts are read.
 */
export function gathering<Note>(count: (note: Note) => void): { note(one: Note): void; countAll(): void } {
  let notes: Note[] = [];
  const countAll = (): void => {
    const gathered = notes;
    notes = [];
    for (const one of gathered) count(one);
  };
  return {
    note(one) {
      notes.push(one);
      if (notes.length === countedTogether) setImmediate(countAll);
    },
    countAll,
  };
}

interface Total {
  count: number;
  seconds: number;
}

/** Sums by name, which cost next to nothing until they are read. */
class Totals {
  readonly of = new Map<string, Total>();

  add(name: string, seconds: number): void {
    const known = this.of.get(name);
    if (known) {
      known.count += 1;
      known.seconds += seconds;
    } else this.of.set(name, { count: 1, seconds });
  }
}

// Event loop delays of the whole process, measured from the first request for metrics on, so that they cost nothing
// without one.
type Delays = ReturnType<typeof monitorEventLoopDelay>;
let delays: Delays | undefined;
function delaysSoFar(): Delays {
  if (delays === undefined) {
    delays = monitorEventLoopDelay({ resolution: 20 });
    delays.enable();
  }
  return delays;
}

function measureProcess(registers: Registry[]): void {
  new Gauge({
    name: 'dealkeep_build_info',
    help: 'Always 1; the labels say which release runs on which Node.js.',
    labelNames: ['version', 'node'],
    registers,
    aggregator: 'max',
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: 'dealkeep_memory_bytes',
    help: 'Resident memory of the processes.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'dealkeep_event_loop_delay_seconds',
    help: 'How late timers ran since the metrics were last read: the 99th percentile and the maximum, of the worst process.',
    labelNames: ['statistic'],
    registers,
    aggregator: 'max',
    collect() {
      const found = delaysSoFar();
      const isMeasured = found.count > 0;
      this.set({ statistic: 'p99' }, isMeasured ? found.percentile(99) / 1e9 : 0);
      this.set({ statistic: 'max' }, isMeasured ? found.max / 1e9 : 0);
      found.reset();
    },
  });
  new Counter({
    name: 'dealkeep_event_loop_active_seconds_total',
    help: 'Time that the processes spent working instead of waiting for work.',
    registers,
    collect() {
      this.reset();
      this.inc(performance.eventLoopUtilization().active / 1000);
    },
  });
}

function measureStatements(registers: Registry[]): ServiceMetrics['ran'] {
  const statements = new Totals();
  const waits = new Totals();
  const counter = (name: string, help: string, labelNames: readonly string[], collect: (counter: Counter) => void) =>
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        collect(this);
      },
    });
  counter('dealkeep_statements_total', 'Runs on the database, by statement.', ['statement'], (c) => {
    for (const [statement, { count }] of statements.of) c.inc({ statement }, count);
  });
  counter(
    'dealkeep_statement_seconds_total',
    'Time from sending a run to its answer, without waiting for a connection.',
    ['statement'],
    (c) => {
      for (const [statement, { seconds }] of statements.of) c.inc({ statement }, seconds);
    },
  );
  counter('dealkeep_database_waits_total', 'Runs that had to wait for a connection to the database.', [], (c) =>
    c.inc(waits.of.get('')?.count ?? 0),
  );
  counter(
    'dealkeep_database_wait_seconds_total',
    'Time that runs have waited for a connection to the database.',
    [],
    (c) => c.inc(waits.of.get('')?.seconds ?? 0),
  );
  return ({ name, seconds, waited }) => {
    statements.add(name, seconds);
    if (waited > 0) waits.add('', waited);
  };
}

function measureJobs(registers: Registry[]): ServiceMetrics['jobRan'] {
  const labelNames = ['scheduled_job'];
  const runs = new Counter({ name: 'dealkeep_job_runs_total', help: 'Runs of scheduled jobs.', labelNames, registers });
  const failures = new Counter({
    name: 'dealkeep_job_failures_total',
    help: 'Runs of scheduled jobs that failed.',
    labelNames,
    registers,
  });
  const time = new Counter({
    name: 'dealkeep_job_seconds_total',
    help: 'Time that scheduled jobs have taken.',
    labelNames,
    registers,
  });
  const last = new Gauge({
    name: 'dealkeep_job_last_success_timestamp_seconds',
    help: 'When a scheduled job last succeeded on this node, in Unix time.',
    labelNames,
    registers,
    aggregator: 'max',
  });
  // Not `job`: Prometheus uses that label for the targets that it scrapes.
  return (scheduled_job, succeeded, seconds, now) => {
    runs.inc({ scheduled_job });
    failures.inc({ scheduled_job }, succeeded ? 0 : 1);
    time.inc({ scheduled_job }, seconds);
    if (succeeded) last.set({ scheduled_job }, now.getTime() / 1000);
  };
}

/** Opens the metrics of one node. */
export function openServiceMetrics(): ServiceMetrics {
  const registry = new Registry();
  const registers = [registry];
  measureProcess(registers);
  const calls = new Counter({
    name: 'dealkeep_tool_calls_total',
    help: 'Tool calls.',
    labelNames: ['tool', 'outcome'],
    registers,
    collect: () => toolCalls.countAll(),
  });
  const callTimes = new Histogram({
    name: 'dealkeep_tool_duration_seconds',
    help: 'Time that tool calls took.',
    labelNames: ['tool'],
    buckets: [0.01, 0.05, 0.25, 1, 5],
    registers,
    collect: () => toolCalls.countAll(),
  });
  const toolCalls = gathering(([tool, outcome, seconds]: [string, ToolOutcome, number]) => {
    calls.inc({ tool, outcome });
    callTimes.observe({ tool }, seconds);
  });
  const attempts = new Counter({
    name: 'dealkeep_mail_attempts_total',
    help: 'Attempts to hand an e-mail over to the mail server.',
    labelNames: ['outcome'],
    registers,
  });
  // Both counters exist from the start, so that the first failure is an increase.
  for (const outcome of ['sent', 'failed']) attempts.inc({ outcome }, 0);
  const limits = new Counter({
    name: 'dealkeep_limits_exceeded_total',
    help: 'Requests beyond a rate limit, by limit.',
    labelNames: ['limit'],
    registers,
  });
  const streams = new Gauge({ name: 'dealkeep_streams', help: 'Open streams of live changes.', registers });
  return {
    registry,
    ran: measureStatements(registers),
    toolCalled: (tool, outcome, seconds) => toolCalls.note([tool, outcome, seconds]),
    jobRan: measureJobs(registers),
    mailTried: (outcome) => attempts.inc({ outcome }),
    limited: (limit) => limits.inc({ limit }),
    streams,
  };
}
