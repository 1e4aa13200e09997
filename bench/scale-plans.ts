/**
 * Finds the nodes that read a table of the platform, in the plans that auto_explain writes into PostgreSQL's log as
 * JSON.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

/** A node that read far more than it returned. */
export interface Scan {
  /** For example "Seq Scan on questions". */
  readonly node: string;
  readonly rows: number;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly Strategy?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Minimum rows of a table to report: a smaller one is read faster by a sequential scan than by an index. */
const fewest = 5_000;
/** Maximum rows that a node may read and discard, whatever the size of the table. */
const mostForNothing = 20_000;

/** Whether a node reads all its input before it returns a row. */
const readsAll = (node: PlanNode): boolean =>
  ['Sort', 'Hash'].includes(node['Node Type']) || (node['Node Type'] === 'Aggregate' && node.Strategy !== 'Sorted');

interface Placed {
  readonly node: PlanNode;
  /** Whether a limit above the node ends it early. */
  readonly isLimited: boolean;
}

function* nodesOf(node: PlanNode, isLimited = false): Generator<Placed> {
  yield { node, isLimited };
  const below = node['Node Type'] === 'Limit' || (isLimited && !readsAll(node));
  for (const inner of node.Plans ?? []) yield* nodesOf(inner, below);
}

/**
 * Yields the entries of a log from this offset on, one at a time: for the export of a large brokerage they are
 * gigabytes.
 */
function* entriesIn(log: string, from: number): Generator<string> {
  const file = openSync(log, 'r');
  try {
    const part = Buffer.alloc(16 << 20);
    const decoder = new StringDecoder('utf8');
    let unfinished = '';
    for (let at = from, read = -1; read !== 0; at += read) {
      read = readSync(file, part, 0, part.length, at);
      const entries = (unfinished + decoder.write(part.subarray(0, read))).split(
        /^(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)/m,
      );
      unfinished = entries.pop() ?? '';
      yield* entries;
    }
    yield unfinished;
  } finally {
    closeSync(file);
  }
}

/** Yields the plans in a log from this offset on. */
function* plansIn(log: string, from: number): Generator<PlanNode> {
  for (const entry of entriesIn(log, from)) {
    const at = entry.indexOf('plan:\n');
    if (at < 0) continue;
    try {
      yield (JSON.parse(entry.slice(at + 6)) as { Plan: PlanNode }).Plan;
    } catch {
      // Other log output interrupted the plan.
    }
  }
}

function note(found: Map<string, Scan>, node: string, rows: number): void {
  const known = found.get(node);
  if (!known || known.rows < rows) found.set(node, { node, rows });
}

/** What statements read. */
export interface Looked {
  /**
   * Nodes that read a large table, or discarded a large part of one: a sequential scan of a table with many rows, an
   * index read from one end to the other, and a filter that discarded more rows than a person's own.
   */
  readonly scans: readonly Scan[];
  /**
   * Number of pages of tables and indexes read, from memory or disk; those of a function also count for its caller. A
   * busy machine does not change it.
   */
  readonly pages: number;
}

/**
 * Returns what the statements read whose plans are in a log from this offset on; `rowsOf` has the number of rows of
 * each table.
 */
export function lookedAt(log: string, from: number, rowsOf: ReadonlyMap<string, number>): Looked {
  const found = new Map<string, Scan>();
  let pages = 0;
  for (const plan of plansIn(log, from)) {
    pages += (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    for (const { node, isLimited } of nodesOf(plan)) {
      const relation = node['Relation Name'];
      // Several indexes were combined, and only the rows found in all of them were read: one index may have returned
      // the rows of the whole platform.
      if (node['Node Type'] === 'Bitmap Heap Scan') {
        const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
        for (const { node: index } of (node.Plans ?? []).flatMap((inner) => [...nodesOf(inner)])) {
          const given = (index['Actual Rows'] ?? 0) * (index['Actual Loops'] ?? 0);
          if (index['Index Name'] !== undefined && given - rows * (node['Actual Loops'] ?? 0) > mostForNothing)
            note(found, `Bitmap Index Scan by ${index['Index Name']}`, given);
        }
      }
      if (relation === undefined || (rowsOf.get(relation) ?? 0) < fewest) continue;
      const loops = node['Actual Loops'] ?? 0;
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      const rows = Math.round(((node['Actual Rows'] ?? 0) + removed) * loops);
      const sequential = node['Node Type'] === 'Seq Scan' && rows >= fewest;
      const fromEndToEnd =
        /^Index (Only )?Scan$/.test(node['Node Type']) && node['Index Cond'] === undefined && !isLimited;
      const wasted = removed * loops > mostForNothing;
      if (!sequential && !wasted && !(fromEndToEnd && rows >= fewest)) continue;
      const name = `${node['Node Type']} on ${relation}${node['Index Name'] ? ` by ${node['Index Name']}` : ''}`;
      note(found, name, rows);
    }
  }
  return { scans: [...found.values()], pages };
}
