/** A short walk, always the same; `npm run walk` takes a hundred thousand steps. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { closeSetup, openSetup, shrunk, stepsOf, walk, type WalkSetup } from './walk.ts';

let service: TestService;
let setup: WalkSetup;

beforeEach(async () => {
  service = await openService();
  setup = await openSetup(service.connections);
});
afterEach(async () => {
  if (setup) await closeSetup(setup);
  await service?.close();
});

test('three hundred random steps show everybody what the rules predict, and allow nothing more', async () => {
  const { failure, tried, allowed, looks } = await walk(setup, stepsOf(20_261_121, 300));
  expect(failure, tried.join('\n')).toBeNull();
  expect(allowed).toBeGreaterThan(60);
  expect(looks).toBeGreaterThan(300);
});

test('the walk detects a policy that shows all participants to everybody', async () => {
  await setup.owner.query('alter policy who_sees_whom on participants using (true)');
  const { failure } = await walk(setup, stepsOf(20_261_121, 300));
  expect(failure?.about).toMatch(/sees .*, and should not\./);
});

test('a failing path is reduced to the steps needed for the failure', async () => {
  const steps = stepsOf(7, 200);
  const needed = [steps[17]!, steps[90]!, steps[151]!];
  const shortest = await shrunk(steps, async (left) => needed.every((step) => left.includes(step)));
  expect(shortest).toEqual(needed);
});
