/**
 * What it takes to make an operation refuse as the document announces: a key over its limit, and a service whose
 * database is unavailable.
 */

import { onTestFinished } from 'vitest';
import type { TestService } from '../harness.ts';
import { startCutOffNode } from '../tools/node.ts';
import { readDocument } from './document.ts';
import { as, dealScopesOf, issueKey } from './scene.ts';

/**
 * Returns the document, a client whose key is over its limit until the test ends, the key's token, and the URL of the
 * API of a node without a database.
 */
export async function prepareRefusals(service: TestService, admin: Parameters<typeof issueKey>[1]) {
  const { clock, restUrl } = service;
  // The limit is per minute: starts at the beginning of a minute, so that the key stays over it.
  clock.advance(60_000 - (clock.now().getTime() % 60_000));
  const document = await readDocument(restUrl);
  const node = await startCutOffNode(service);
  onTestFinished(node.stop);
  const key = await issueKey(service, admin, { scopes: await dealScopesOf(service), ceiling: 1 });
  const limited = as(key, restUrl);
  await limited('GET', '/deals');
  return { document, limited, limitedToken: key.token, away: `${node.origin}/api/v1` };
}
