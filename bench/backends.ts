/** Processor time of PostgreSQL's backends, as Linux counts it in nanoseconds: a busy machine does not change it. */

import { readFileSync } from 'node:fs';
import type pg from 'pg';

/** The backends of all clients of the database, on this machine. */
export class ClientBackends {
  readonly #client: pg.Client;
  /** Nanoseconds that each backend had used when last read, by process id; backends that have ended are kept. */
  readonly #spent = new Map<number, number>();

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Returns the processor time of all backends so far, in seconds; null where it cannot be measured. */
  async spent(): Promise<number | null> {
    const { rows } = await this.#client.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and usename is not null and pid <> pg_backend_pid()`,
    );
    for (const { pid } of rows) this.#spent.set(pid, this.#spent.get(pid) ?? 0);
    let sum = 0;
    for (const [pid, before] of this.#spent) {
      const now = nanoseconds(pid) ?? before;
      this.#spent.set(pid, now);
      sum += now;
    }
    return sum > 0 ? sum / 1e9 : null;
  }
}

function nanoseconds(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return null;
  }
}
