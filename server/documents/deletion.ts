/** Deletes document contents that are no longer needed from the store. */

import type { CoreServices } from '../services.ts';
import { bodiesToClear, bodyCleared, bodyGoes } from '../domain/documents/documents.ts';

/** How long an upload may take, in milliseconds; the same as in app.bodies_to_clear(). */
const longestUpload = 2 * 86_400_000;
/** The database returns some hundreds of contents at once; after this many rounds the next run continues. */
const mostRounds = 200;

/**
 * Deletes the contents of failed uploads and of documents removed long ago; rejects when the store or the database is
 * unavailable.
 */
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
