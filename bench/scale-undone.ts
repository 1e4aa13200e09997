/** What is measured although it changes the platform: it is done in a transaction that is taken back, so that the next run finds the same. */

import type pg from 'pg';
import { createApp } from '../server/app.ts';
import { listen } from '../server/cli/listen.ts';
import type { Config } from '../server/config/config.ts';
import type { Database, Results } from '../server/database/database.ts';
import type { Statement } from '../server/database/statement.ts';
import { createLog } from '../server/lib/log.ts';
import { openServices } from '../server/services.ts';
import type { Storage } from '../server/storage/storage.ts';

class TakenBack extends Error {
  override readonly name = 'TakenBack';
}

/** Does this in one transaction and takes it back. Resolves with the answers; rejects as `together` of the database does. */
export async function undone<const S extends readonly Statement<unknown>[]>(
  database: Database,
  ...statements: S
): Promise<Results<S>> {
  let answers: Results<S> | undefined;
  try {
    await database.followed(statements, (found): Statement<unknown> => {
      answers = found;
      throw new TakenBack();
    });
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error;
  }
  return answers as Results<S>;
}

/** The same database, which takes back each transaction. */
const undoing = (database: Database): Database => ({
  ...database,
  run: async (statement) => (await undone(database, statement))[0],
  together: (...statements) => undone(database, ...statements),
  followed: () => Promise.reject(new Error('What is made of the answers would stay: ask for it in one transaction.')),
});

/** A store without bodies, of each of which there is a byte to read: those of the platform's documents are nowhere. */
const emptyStore = (storage: Storage): Storage => ({
  ...storage,
  async write(_key, body) {
    // Whoever writes has measured the body once it was read.
    const parts = body[Symbol.asyncIterator]();
    while (!(await parts.next()).done);
  },
  read: async () => new Blob(['%']).stream(),
  remove: async () => {},
});

/** The application, within this process. */
export interface UndoingApp {
  readonly origin: string;
  stop(): Promise<void>;
}

/** Starts the application on a port of its own, on the database that the server's login leads to: what a request changes is taken back when it is answered. */
export async function startUndoing(config: Config, connection: pg.ClientConfig): Promise<UndoingApp> {
  const { services, close } = await openServices(config, connection, { log: createLog('silent') });
  const listener = await listen('127.0.0.1', 0);
  const app = createApp({
    ...services,
    database: undoing(services.database),
    storage: emptyStore(services.storage),
  });
  listener.answerWith(app, services);
  return { origin: `http://127.0.0.1:${listener.port}`, stop: () => close(() => listener.close(1)) };
}
