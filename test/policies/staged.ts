/** Gives a test file of this folder a stage of its own. */

import { afterAll, beforeAll, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import type { Check, Stage } from './scene.ts';
import { leaveStage, openStage } from './stage.ts';

/**
 * Opens a stage before the tests of the file and closes it after them. Call it at the top of the file; the returned
 * function gives the stage to a test.
 */
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

/** Registers one test per check, all on the same stage. */
export function testChecks(checks: readonly Check[]): void {
  const stage = useStage();
  // Some checks try every caller with every record.
  test.each(checks)('$title', { timeout: 360_000 }, (check) => check.run(stage()));
}
