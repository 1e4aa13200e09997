/** The services that a request handler needs, opened once at start. */

import type { Config } from './config.ts';
import type { Changes } from './database/changes.ts';
import type { Database } from './database/database.ts';
import type { RateLimits } from './http/limits.ts';
import type { Logger } from './log.ts';
import type { Mailer } from './mail.ts';
import type { Storage } from './storage/storage.ts';

export interface Services {
  readonly config: Config;
  readonly database: Database;
  /** For windows and cookies; whether something has expired is decided in SQL. */
  readonly clock: () => Date;
  readonly log: Logger;
  readonly mail: Mailer;
  readonly limits: RateLimits;
  /** The bodies of documents. */
  readonly storage: Storage;
  /** What changes in the database, as it happens. */
  readonly changes: Changes;
  /** Aborted when the server begins to stop: answers that never end by themselves end then. */
  readonly stopping: AbortSignal;
}
