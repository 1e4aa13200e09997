/** Holds the policies to particulars.ts. */

import { afterAll, beforeAll, test } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { particulars } from './particulars.ts';
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

test.each(particulars)('$title', (check) => check.run(stage));
