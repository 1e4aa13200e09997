/** Gives a test file of this folder a stage of its own. */

import { afterAll, beforeAll, test } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { leaveStage, openStage, type Check, type Stage } from './stage.ts';

/** Opens a stage before the tests of the file and closes it after them; call at the top of it, and ask for the stage in a test. */
export function useStage(): () => Stage {
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
  return () => stage;
}

/** One test a check, each on the same stage. */
export function testChecks(checks: readonly Check[]): void {
  const stage = useStage();
  test.each(checks)('$title', (check) => check.run(stage()));
}
