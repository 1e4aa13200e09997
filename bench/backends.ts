/** The processor time of PostgreSQL's backends, as Linux counts it in nanoseconds: the same on a busy machine as on a quiet one. */

import { readFileSync } from 'node:fs';
import type pg from 'pg';

/** The backends of all clients of the database, on this machine. */
export class ClientBackends {
  readonly #client: pg.Client;
  /** What each has used when it was last looked at, in nanoseconds; kept of those that have ended. */
  readonly #spent = new Map<number, number>();

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** The processor time of all of them so far, in seconds; null where that cannot be told. */
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
