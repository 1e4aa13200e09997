/** A node's cache of deals never exceeds its size. Seeing that from outside would take too large an upload. */

import { expect, test } from 'vitest';
import { DealCache } from '../../server/domain/diligence/caches.ts';

test('a full cache evicts its least recently used entries, and does not keep oversized ones', () => {
  const kept = new DealCache<string>({ size: 10, ofOne: 6, ofDeal: 2 });
  const held = (...deals: string[]) => deals.map((deal) => [...kept.of(deal).keys()].join(' '));
  kept.keep('first', 'a', 'A', 6);
  kept.keep('second', 'b', 'B', 4);
  expect(held('second', 'first')).toEqual(['b', 'a']);
  kept.keep('third', 'c', 'C', 1);
  expect(held('first', 'second', 'third')).toEqual(['a', '', 'c']);
  kept.keep('fourth', 'd', 'D', 7);
  expect(held('fourth', 'first', 'third')).toEqual(['', 'a', 'c']);
  // An entry that is stored again counts once, and of each deal the latest entries stay.
  for (let again = 0; again < 20; again += 1) kept.keep('third', 'c', 'C', 1);
  kept.keep('third', 'd', 'D', 1);
  kept.keep('third', 'e', 'E', 1);
  expect(held('first', 'third')).toEqual(['a', 'e d']);
  expect(kept.of('third').get('d')).toBe('D');
});
