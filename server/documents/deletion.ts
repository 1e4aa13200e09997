/** Deletes bodies from the store that no document needs any more. */

import type { CoreServices } from '../services.ts';
import { bodiesToClear, bodyCleared, bodyGoes } from '../domain/documents/documents.ts';

/** How long an upload may take, in milliseconds: as long as app.bodies_to_clear() leaves it. */
const longestUpload = 2 * 86_400_000;
/** The database names some hundred bodies at once; after so many rounds the next run goes on. */
const mostRounds = 200;

/** Clears away the bodies of uploads that failed and of documents taken out long ago; rejects when the store or the database is away. */
export async function deleteUnusedBodies({ database, storage, clock, log }: CoreServices): Promise<void> {
  await storage.tidy(new Date(clock().getTime() - longestUpload));
  let cleared = 0;
  for (let round = 0; round < mostRounds; round += 1) {
    const keys = await database.run(bodiesToClear());
    if (keys.length === 0) break;
    for (const key of keys) {
      if (!(await database.run(bodyGoes(key)))) continue;
      await storage.remove(key);
      await database.run(bodyCleared(key));
      cleared += 1;
    }
  }
  if (cleared > 0) log.info({ bodies: cleared }, 'deleted unused documents from the store');
}
