/** Opens the configured store for bodies: an S3-compatible store, or files under DATA_DIR. */

import path from 'node:path';
import type { Config } from '../config/config.ts';
import { openFileStorage } from './files.ts';
import { withSamples } from './samples.ts';
import type { Storage } from './storage.ts';

/** Does not access the store: only the first write shows whether it works. */
export async function openStorage({ s3, dataDir }: Config): Promise<Storage> {
  if (!s3) return withSamples(openFileStorage(path.join(dataDir, 'documents')));
  // Imported only when needed: the module is large, and most installations store files.
  const { openS3Storage } = await import('./s3.ts');
  return withSamples(openS3Storage(s3));
}
