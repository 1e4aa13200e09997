/** Finds, in what auto_explain writes into PostgreSQL's log as JSON, the nodes of plans that read a table of the platform. */

import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

/** A node that read far more than it gave. */
export interface Scan {
  /** "Seq Scan on questions" */
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

/** A table with fewer rows is read through faster than an index is. */
const fewest = 5_000;
/** What a node may read for nothing, whatever the size of the table. */
const mostForNothing = 20_000;

/** Whether a node reads all that is below it before it gives anything. */
const readsAll = (node: PlanNode): boolean =>
  ['Sort', 'Hash'].includes(node['Node Type']) || (node['Node Type'] === 'Aggregate' && node.Strategy !== 'Sorted');

interface Placed {
  readonly node: PlanNode;
  /** A limit above it ends it early. */
  readonly isLimited: boolean;
}

function* nodesOf(node: PlanNode, isLimited = false): Generator<Placed> {
  yield { node, isLimited };
  const below = node['Node Type'] === 'Limit' || (isLimited && !readsAll(node));
  for (const inner of node.Plans ?? []) yield* nodesOf(inner, below);
}

/** The entries of a log behind this place, one after the other: for the export of a large brokerage they are gigabytes. */
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

/** The plans that a log tells of behind this place. */
function* plansIn(log: string, from: number): Generator<PlanNode> {
  for (const entry of entriesIn(log, from)) {
    const at = entry.indexOf('plan:\n');
    if (at < 0) continue;
    try {
      yield (JSON.parse(entry.slice(at + 6)) as { Plan: PlanNode }).Plan;
    } catch {
      // Something else was written in between.
    }
  }
}

function note(found: Map<string, Scan>, node: string, rows: number): void {
  const known = found.get(node);
  if (!known || known.rows < rows) found.set(node, { node, rows });
}

/** What statements did. */
export interface Looked {
  /**
   * The nodes that went through a large table, or a large part of one for nothing: a sequential scan of a table with many rows, an
   * index read from one end to the other, and a filter that threw away more than anybody's own rows.
   */
  readonly scans: readonly Scan[];
  /**
   * How many pages of tables and indexes were read, from memory or not; those of a function also count for what calls it. It is the
   * same on a busy machine.
   */
  readonly pages: number;
}

/** What the statements did of which a log tells behind this place; `rowsOf` says how many rows each table has. */
export function lookedAt(log: string, from: number, rowsOf: ReadonlyMap<string, number>): Looked {
  const found = new Map<string, Scan>();
  let pages = 0;
  for (const plan of plansIn(log, from)) {
    pages += (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    for (const { node, isLimited } of nodesOf(plan)) {
      const relation = node['Relation Name'];
      // Of what several indexes gave, the rows that are in all of them: an index may have given the platform's.
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
