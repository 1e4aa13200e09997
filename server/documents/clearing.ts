/** Clears bodies out of the store that nobody needs any more. */

import type { CoreServices } from '../services.ts';
import { bodiesToClear, bodyCleared } from '../domain/documents/documents.ts';

const day = 86_400_000;

/** Clears away the bodies of uploads that failed and of documents taken out long ago; rejects when the store or the database is away. */
export async function clearBodies({ database, storage, clock, log }: CoreServices): Promise<void> {
  await storage.tidy(new Date(clock().getTime() - day));
  const keys = await database.run(bodiesToClear());
  for (const key of keys) {
    await storage.remove(key);
    await database.run(bodyCleared(key));
  }
  if (keys.length > 0) log.info({ bodies: keys.length }, 'cleared the store away');
}
