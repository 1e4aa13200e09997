/**
 * Decides which run gets the next connection: the one that has waited longest among those whose share is not used up. A
 * credential has at most half of the connections and of the queue; runs of the same statements have four fifths, or two
 * fifths while one of them takes long; and all runs that have recently been slow have half together. So neither one
 * caller nor a lock on one table blocks all others.
 */

import { Counts } from '../lib/counts.ts';
import { Busy } from './errors.ts';

/** The properties of a run that determine its share of the connections. */
export interface RunKind {
  /** The credential that the run authenticates with; null without one. */
  readonly holder: string | null;
  /** The names of its statements: runs of one shape differ only in their parameters. */
  readonly shape: string;
  /** Whether the run goes first, regardless of all shares. */
  readonly first?: boolean;
}

interface ConnectionQueue {
  /** Resolves when a connection is free for this run, with a function that gives it back. Rejects with {@link Busy}. */
  enter(kind: RunKind): Promise<(succeeded: boolean) => void>;
  waiting(): number;
  /** How many runs have had to wait so far. */
  waits(): number;
}

interface ConnectionQueueOptions {
  /** The number of connections. */
  readonly size: number;
  /** How long a run may wait, in milliseconds. */
  readonly waitMillis: number;
  /** How many runs may wait. */
  readonly most: number;
}

/** Milliseconds after which a run counts as slow; most take less than a hundredth of this. */
const slowAfter = 250;
/**
 * A run that has taken longer than this, in milliseconds, may be waiting for a lock, and so may others of its shape.
 */
const longAfter = 50;
/** At most this many shapes are remembered. */
const mostShapes = 2_000;

interface Shape {
  /** Start times of the runs in progress, oldest first. */
  readonly running: Set<{ readonly since: number }>;
  /** Whether the last finished run took long; a run that failed quickly does not change it. */
  slow: boolean;
}

interface Waiting {
  readonly kind: RunKind;
  readonly until: number;
  readonly begin: () => void;
  readonly refuse: () => void;
}

const busy = (): Busy => new Busy('The service is busy: try again shortly.');

/** Opens the queue in front of `size` connections. */
export function openConnectionQueue({ size, waitMillis, most }: ConnectionQueueOptions): ConnectionQueue {
  const half = Math.max(1, Math.floor(size / 2));
  const shapeShare = Math.ceil(size * 0.8);
  const longShare = Math.ceil(size * 0.4);
  const holders = new Counts();
  const queuedOf = new Counts();
  const shapes = new Map<string, Shape>();
  let queue: Waiting[] = [];
  let running = 0;
  let waits = 0;
  let sweep: NodeJS.Timeout | undefined;

  function shapeOf(name: string): Shape {
    const known = shapes.get(name);
    if (known) return known;
    if (shapes.size >= mostShapes)
      for (const [other, { running: now }] of shapes) if (now.size === 0) shapes.delete(other);
    const shape: Shape = { running: new Set(), slow: false };
    shapes.set(name, shape);
    return shape;
  }

  function runsLonger({ running: now }: Shape, moment: number, millis: number): boolean {
    // A set keeps the order of insertion, so the first run is the oldest.
    const [eldest] = now;
    return eldest !== undefined && moment - eldest.since > millis;
  }

  const isSlow = (shape: Shape, moment: number): boolean => shape.slow || runsLonger(shape, moment, slowAfter);

  function heldBySlow(moment: number): number {
    let held = 0;
    for (const shape of shapes.values())
      if (shape.running.size > 0 && isSlow(shape, moment)) held += shape.running.size;
    return held;
  }

  function mayBegin({ holder, shape: name, first }: RunKind): boolean {
    if (running >= size) return false;
    if (first) return true;
    if (holder !== null && holders.of(holder) >= half) return false;
    const shape = shapes.get(name);
    if (shape === undefined) return true;
    if (shape.running.size >= shapeShare) return false;
    const now = performance.now();
    if (shape.running.size >= longShare && runsLonger(shape, now, longAfter)) return false;
    return !isSlow(shape, now) || heldBySlow(now) < half;
  }

  /** Counts a run that begins, and returns the function to call when it ends. */
  function begun({ holder, shape: name }: RunKind): (succeeded: boolean) => void {
    const shape = shapeOf(name);
    const run = { since: performance.now() };
    running += 1;
    shape.running.add(run);
    if (holder !== null) holders.add(holder, 1);
    return (succeeded) => {
      running -= 1;
      shape.running.delete(run);
      if (holder !== null) holders.add(holder, -1);
      const isQuick = performance.now() - run.since <= slowAfter;
      // A run that failed quickly does not show how long a successful one takes.
      if (succeeded || !isQuick) shape.slow = !isQuick;
      next();
    };
  }

  function leave(waiting: Waiting): void {
    queue.splice(queue.indexOf(waiting), 1);
    const { holder } = waiting.kind;
    if (holder !== null) queuedOf.add(holder, -1);
    if (queue.length === 0) {
      clearInterval(sweep);
      sweep = undefined;
    }
  }

  /** Starts every waiting run that may begin. */
  function next(): void {
    if (queue.length === 0 || running >= size) return;
    for (const waiting of queue.slice()) {
      if (running >= size) return;
      if (!mayBegin(waiting.kind)) continue;
      leave(waiting);
      waiting.begin();
    }
  }

  /**
   * Rejects the runs that have waited too long, then starts those that may begin now: shares change while runs take
   * long.
   */
  function sweepQueue(): void {
    const now = performance.now();
    for (const waiting of queue.filter(({ until }) => until <= now)) {
      leave(waiting);
      waiting.refuse();
    }
    next();
  }

  return {
    enter(kind) {
      if (mayBegin(kind)) return Promise.resolve(begun(kind));
      const { holder } = kind;
      const own = holder === null ? 0 : queuedOf.of(holder);
      if (!kind.first && (queue.length >= most || own >= most / 2)) return Promise.reject(busy());
      waits += 1;
      return new Promise((resolve, reject) => {
        const waiting: Waiting = {
          kind,
          until: performance.now() + waitMillis,
          begin: () => resolve(begun(kind)),
          refuse: () => reject(busy()),
        };
        if (kind.first) queue = [waiting, ...queue];
        else queue.push(waiting);
        if (holder !== null) queuedOf.add(holder, 1);
        sweep ??= setInterval(sweepQueue, Math.min(50, waitMillis)).unref();
      });
    },
    waiting: () => queue.length,
    waits: () => waits,
  };
}
