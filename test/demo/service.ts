/** A service with the demo, and a way to query it as one of its people. */

import type { Demo } from '../../database/demo/load.ts';
import { row, type Statement } from '../../server/database/statement.ts';
import { openService, type TestService } from '../harness.ts';

export type Lead = keyof Demo['people'];
export const leads: readonly Lead[] = ['admin', 'broker', 'seller', 'buyer', 'other_buyer', 'outsider'];

export interface DemoService {
  readonly service: TestService;
  /** What demo.json would contain. */
  readonly demo: TestService['demo'];
  /** Runs a statement as one of the people. */
  as<R>(lead: Lead, statement: Statement<R>): Promise<R>;
}

const enterAs = row<unknown, [userId: string]>('demo_test_enter_as', 'select app.demo_test_enter_as($1)');

/** Opens a service with the demo, and creates the function with which tests enter as one of its people. */
export async function openDemoService(): Promise<DemoService> {
  const service = await openService({ demo: true });
  await service.sql(`
    create function app.demo_test_enter_as(user_id uuid) returns void
    language sql volatile security definer set search_path = '' as $$ select app.enter(user_id, null, null, null, null) $$`);
  await service.sql('grant execute on function app.demo_test_enter_as(uuid) to dealkeep_server');
  const { demo } = service;
  return {
    service,
    demo,
    async as(lead, statement) {
      const [, answer] = await service.asServer(enterAs(demo.people[lead].user_id), statement);
      return answer;
    },
  };
}
