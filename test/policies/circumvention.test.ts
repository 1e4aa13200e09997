/** Holds the attempts of circumvention.ts to getting nowhere. */

import { afterAll, beforeAll, test } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { circumventions } from './circumvention.ts';
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

test.each(circumventions)('$title', (check) => check.run(stage));
