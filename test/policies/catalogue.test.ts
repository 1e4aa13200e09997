/** Holds the live catalogue to the checks of catalogue.ts. */

import { afterAll, beforeAll, test } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { catalogueChecks } from './catalogue.ts';
import { leaveStage, openStage, type Stage } from './stage.ts';

let house: TestHouse;
let stage: Stage;

beforeAll(async () => {
  house = await openHouse();
  stage = await openStage(house.connections);
});
afterAll(async () => {
  if (stage) await leaveStage(stage);
  await house?.close();
});

test.each(catalogueChecks)('$title', (check) => check.run(stage));
