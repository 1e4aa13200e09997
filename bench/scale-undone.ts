/**
 * Measures calls that change the platform: their transactions are rolled back, so that the next run finds the same
 * data.
 */

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

/**
 * Executes the statements in one transaction and rolls it back. Resolves with their results; rejects as `together` of
 * the database does.
 */
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

/** Returns the same database, except that it rolls back each transaction. */
const undoing = (database: Database): Database => ({
  ...database,
  run: async (statement) => (await undone(database, statement))[0],
  together: (...statements) => undone(database, ...statements),
  followed: () => Promise.reject(new Error('What is made of the answers would stay: ask for it in one transaction.')),
});

/**
 * A document store that stores nothing and returns one byte for each body: the bodies of the platform's documents do
 * not exist.
 */
const emptyStore = (storage: Storage): Storage => ({
  ...storage,
  async write(_key, body) {
    // The body is read to its end, since the caller measures it meanwhile.
    const parts = body[Symbol.asyncIterator]();
    while (!(await parts.next()).done);
  },
  read: async () => new Blob(['%']).stream(),
  remove: async () => {},
});

/** The application, running in this process. */
export interface UndoingApp {
  readonly origin: string;
  stop(): Promise<void>;
}

/**
 * Starts the application on its own port, with the database of the server's login; it rolls back the changes of each
 * request.
 */
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
