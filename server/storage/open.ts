/** Opens the store for bodies that the configuration names: an S3-compatible one, or else files under DATA_DIR. */

import path from 'node:path';
import type { Config } from '../config/config.ts';
import { openFileStorage } from './files.ts';
import { withSamples } from './samples.ts';
import type { Storage } from './storage.ts';

/** Touches nothing yet: the first body that is kept finds out whether the store takes it. */
export async function openStorage({ s3, dataDir }: Config): Promise<Storage> {
  if (!s3) return withSamples(openFileStorage(path.join(dataDir, 'documents')));
  // Loaded only here: it is large, and most installations keep files.
  const { openS3Storage } = await import('./s3.ts');
  return withSamples(openS3Storage(s3));
}
