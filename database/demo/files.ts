/** The bodies of the demo's documents, for a store of files; the rows have the same keys, sizes and digests. */

import { createHash } from 'node:crypto';
import { deals } from './deals/all.ts';
import type { DemoDeal, Document } from './deal-types.ts';

const digest = (content: string | Buffer): Buffer => createHash('sha256').update(content).digest();

/** Returns the storage key of a document's body, which is the same in every load. */
export function storageKey(deal: DemoDeal, document: Document): string {
  const name = JSON.stringify([deal.key, document.request ?? null, document.filename]);
  return `demo-${digest(name).toString('hex').slice(0, 32)}`;
}

/** Returns the columns that describe a body. */
export function bodyColumns(deal: DemoDeal, document: Document) {
  const { mediaType, bytes } = document.body;
  return {
    size_bytes: bytes.length,
    media_type: mediaType,
    sha256: digest(bytes),
    storage_key: storageKey(deal, document),
  };
}

export interface DemoBody {
  readonly storageKey: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** Yields the body of every document of the demo, except for documents that were removed from a deal. */
export function* demoBodies(): Generator<DemoBody> {
  for (const deal of deals) {
    for (const document of deal.documents ?? []) {
      if (!document.removed) yield { storageKey: storageKey(deal, document), ...document.body };
    }
  }
}
