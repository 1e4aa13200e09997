/** Splits long work on an upload into portions, so that other requests are processed in between. */

import { setImmediate } from 'node:timers/promises';

/** Yields the items one after another, and gives other requests a turn after every `portion` items. */
export async function* inPortions<Item>(items: Iterable<Item>, portion = 100): AsyncGenerator<Item, void> {
  let given = 0;
  for (const item of items) {
    if (given > 0 && given % portion === 0) await setImmediate();
    given += 1;
    yield item;
  }
}
