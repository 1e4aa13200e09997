/** Gives a test file of this folder a stage of its own. */

import { afterAll, beforeAll, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import type { Check, Stage } from './scene.ts';
import { leaveStage, openStage } from './stage.ts';

/** Opens a stage before the tests of the file and closes it after them; call at the top of it, and ask for the stage in a test. */
export function useStage(): () => Stage {
  let service: TestService;
  let stage: Stage;
  beforeAll(async () => {
    service = await openService({ scene: true });
    stage = await openStage(service.connections, service.scene);
  });
  afterAll(async () => {
    if (stage) await leaveStage(stage);
    await service?.close();
  });
  return () => stage;
}

/** One test a check, each on the same stage. */
export function testChecks(checks: readonly Check[]): void {
  const stage = useStage();
  // Some ask for everybody and every record.
  test.each(checks)('$title', { timeout: 360_000 }, (check) => check.run(stage()));
}
