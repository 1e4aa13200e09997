/** Names that every JavaScript object inherits are unknown names, wherever a client sends one. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { aPdf, upload } from '../web/uploads.ts';
import { documentCategory } from '../../web/src/lib/states.ts';
import { readDealsSearch } from '../../web/src/routes/deals/search.ts';
import { openWalk, type Walk } from './routes.ts';

let walk: Walk;
beforeAll(async () => {
  walk = await openWalk();
});
afterAll(() => walk?.close());

const inherited = ['constructor', 'toString', 'hasOwnProperty', '__proto__', 'valueOf', 'isPrototypeOf'];

test('a file extension with the name of an inherited property is rejected as an unsupported type', async () => {
  for (const name of inherited) {
    const sent = await upload(walk.service, await walk.as('broker'), walk.scene.deal, aPdf(), {
      filename: `x.${name}`,
    });
    expect([name, sent.status, sent.body.error.code]).toEqual([name, 415, 'unsupported_type']);
  }
});

test('an imported contact column with the name of an inherited property causes no error', async () => {
  const path = `/api/web/contacts/import/preview?brokerage_id=${walk.scene.brokerage}`;
  const headers = { ...(await walk.signedIn()), 'content-type': 'text/csv' };
  const body = `name,${inherited.join(',')}\nAnn${',x'.repeat(inherited.length)}\n`;
  const answer = await fetch(walk.service.origin + path, { method: 'POST', headers, body });
  expect([answer.status, ((await answer.json()) as { faults: unknown[] }).faults]).toEqual([200, []]);
});

test('names of inherited properties are unknown filters of the deal list and unknown document categories', () => {
  for (const name of inherited) {
    expect(readDealsSearch({ state: [name, 'listed'], role: name, sort: name })).toEqual({ state: ['listed'] });
    expect(documentCategory(name).toLowerCase()).toBe(name.toLowerCase());
  }
});
