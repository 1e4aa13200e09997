/**
 * Receives notifications of changes on a dedicated database connection, and passes them to the listeners in this
 * process.
 */

import pg from 'pg';

/** A change of a record, as announced by 025_told_by_deal.sql. */
export interface Change {
  topic: string;
  table: string;
  record: string;
  deal_id: string | null;
  gone: boolean;
}

const reconnectAfter = 2_000;
/** How long `close` waits for a connection to end, in milliseconds. */
const closingMillis = 2_000;

/** Called with `null` after the connection was lost, when anything may have changed. */
export type Listener = (change: Change | null) => void;

export interface Changes {
  /** Calls `listener` for every change until the returned function is called. */
  follow(listener: Listener): () => void;
  /**
   * Calls `wake` when work was put into a queue of the database (a mail, an event to notify of, a webhook delivery), on
   * the node that listens to the database, until the returned function is called.
   */
  onQueued(wake: () => void): () => void;
  /**
   * Stops reading changes until `resume`; they stay in the database's queue. Listeners still get the changes already
   * read.
   */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

/** Changes read on a database connection of this process. */
export interface DatabaseChanges extends Changes {
  /** Settles when the first connection listens, or has failed and will be retried. Earlier changes may be missed. */
  readonly begun: Promise<void>;
  /** Whether the connection listens, as far as is known: a dead connection is noticed at the next check. */
  isListening(): boolean;
}

/** The listeners of this process. */
export class Listeners implements Pick<Changes, 'follow' | 'onQueued'> {
  readonly #changes = new Set<Listener>();
  readonly #workers = new Set<() => void>();

  readonly follow = (listener: Listener) => {
    this.#changes.add(listener);
    return () => void this.#changes.delete(listener);
  };

  readonly onQueued = (wake: () => void) => {
    this.#workers.add(wake);
    return () => void this.#workers.delete(wake);
  };

  notify(change: Change | null): void {
    for (const listener of this.#changes) listener(change);
  }

  wakeWorkers(): void {
    for (const wake of this.#workers) wake();
  }
}

const destroy = (client: pg.Client) => client.connection.stream.destroy();

interface ChangesOptions {
  /** Whether listeners are also called with `null` after the first connection. */
  readonly saysMissed?: boolean;
  /** How long the database may take to connect, and to respond, in milliseconds. */
  readonly silenceMillis?: number | undefined;
}

// Named after the first of the queues, because nodes of earlier releases listen to it too.
const queuedChannel = 'dealkeep_mail';

/**
 * Starts listening for changes and for work put into queues; a lost connection is reported and re-established
 * automatically.
 */
export function openChanges(
  connection: pg.ClientConfig,
  onAway: (reason: string) => void,
  { saysMissed = false, silenceMillis = 10_000 }: ChangesOptions = {},
): DatabaseChanges {
  const listeners = new Listeners();
  let client: pg.Client | undefined;
  let listening: pg.Client | undefined;
  let isPaused = false;
  let closed = false;
  let again: NodeJS.Timeout | undefined;
  let connecting: Promise<void>;

  const retry = (reason: string) => {
    if (closed || again !== undefined) return;
    onAway(reason);
    listening = undefined;
    again = setTimeout(() => {
      again = undefined;
      connecting = connect(true);
    }, reconnectAfter);
    again.unref();
  };
  async function connect(wasAway: boolean): Promise<void> {
    const next = new pg.Client({
      application_name: 'dealkeep changes',
      connectionTimeoutMillis: silenceMillis,
      query_timeout: silenceMillis,
      keepAlive: true,
      ...connection,
    });
    client = next;
    // Events of a connection that was already dropped are ignored.
    const lost = (reason: string) => next === client && retry(reason);
    next.on('error', (error) => lost(error.message));
    next.on('end', () => lost('the connection ended'));
    next.on('notification', ({ channel, payload }) => {
      if (channel === queuedChannel) listeners.wakeWorkers();
      else if (payload) listeners.notify(JSON.parse(payload) as Change);
    });
    try {
      await next.connect();
      await next.query(`listen dealkeep_changes; listen ${queuedChannel}`);
      isPaused = false;
      listening = next;
      if (wasAway) listeners.notify(null);
    } catch (error) {
      lost((error as Error).message);
      destroy(next);
    }
  }

  /**
   * Drops the connection when it does not respond: nothing else is sent on it, and a proxy acknowledges packets for a
   * server that is gone.
   */
  async function ask(): Promise<void> {
    const asked = listening;
    // While the stream is paused, no response is read.
    if (asked === undefined || isPaused) return;
    try {
      await asked.query('select');
    } catch (error) {
      if (asked !== client || isPaused) return;
      retry((error as Error).message);
      destroy(asked);
    }
  }

  const begun = connect(saysMissed);
  connecting = begun;
  const asking = setInterval(() => void ask(), silenceMillis).unref();
  const resume = () => {
    isPaused = false;
    client?.connection.stream.resume();
  };
  return {
    begun,
    isListening: () => listening !== undefined,
    follow: listeners.follow,
    onQueued: listeners.onQueued,
    pause() {
      isPaused = true;
      client?.connection.stream.pause();
    },
    resume,
    async close() {
      closed = true;
      clearTimeout(again);
      clearInterval(asking);
      // On a silent network neither a handshake nor the end of a connection is answered.
      const late = setTimeout(() => client && destroy(client), closingMillis);
      await connecting;
      // The end of a connection is noticed only while it is read.
      resume();
      await client?.end().catch(() => {});
      clearTimeout(late);
    },
  };
}
