/** Splits long work on an upload into portions, so that other requests are answered in between. */

import { setImmediate } from 'node:timers/promises';

/** Gives the items one after the other, and lets other requests have their turn after every `portion` of them. */
export async function* inPortions<Item>(items: Iterable<Item>, portion = 100): AsyncGenerator<Item, void> {
  let given = 0;
  for (const item of items) {
    if (given > 0 && given % portion === 0) await setImmediate();
    given += 1;
    yield item;
  }
}
