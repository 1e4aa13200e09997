/** A house with the demo in it, and a way to look at it as one of its people. */

import type { Demo } from '../../database/demo/load.ts';
import { row, type Statement } from '../../server/database/statement.ts';
import { openHouse, type TestHouse } from '../harness.ts';

export type Lead = keyof Demo['people'];
export const leads: readonly Lead[] = ['admin', 'broker', 'seller', 'buyer', 'other_buyer', 'outsider'];

export interface DemoHouse {
  readonly house: TestHouse;
  /** What demo.json would hold. */
  readonly demo: TestHouse['demo'];
  /** Runs a statement as one of the people. */
  as<R>(lead: Lead, statement: Statement<R>): Promise<R>;
}

const enterAs = row<unknown, [userId: string]>('demo_test_enter_as', 'select app.demo_test_enter_as($1)');

export async function openDemoHouse(): Promise<DemoHouse> {
  const house = await openHouse({ demo: true });
  await house.sql(`
    create function app.demo_test_enter_as(user_id uuid) returns void
    language sql volatile security definer set search_path = '' as $$ select app.enter(user_id, null, null, null, null) $$`);
  await house.sql('grant execute on function app.demo_test_enter_as(uuid) to dealkeep_server');
  const { demo } = house;
  return {
    house,
    demo,
    async as(lead, statement) {
      const [, answer] = await house.asServer(enterAs(demo.people[lead].user_id), statement);
      return answer;
    },
  };
}
