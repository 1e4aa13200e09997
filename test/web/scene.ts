/** The scene of docs/visibility.md behind a listening house, and its people as they sign in to the web application. */

import { openHouse, type HouseOptions, type TestHouse } from '../harness.ts';
import { connect, setScene, type Scene } from '../policies/scene.ts';
import { signInAs, type SignedIn } from './person.ts';

export interface WebScene {
  readonly house: TestHouse;
  readonly scene: Scene;
  /** Signs a caller of the scene in; once, then the same session. */
  as(caller: string): Promise<SignedIn>;
  close(): Promise<void>;
}

/** Opens a house with the scene in it; call in beforeAll, and `close` it in afterAll. */
export async function openScene(options: HouseOptions = {}): Promise<WebScene> {
  const house = await openHouse(options);
  const owner = await connect(house.connections.owner);
  const scene = await setScene(owner).finally(() => owner.end());
  const sessions = new Map<string, Promise<SignedIn>>();
  return {
    house,
    scene,
    as(caller) {
      const userId = scene.people[caller];
      if (userId === undefined) throw new Error(`Nobody in the scene is called ${caller}.`);
      const session = sessions.get(caller) ?? signInAs(house, userId);
      sessions.set(caller, session);
      return session;
    },
    close: () => house.close(),
  };
}

/** The records of the audit trail with this action, the latest first. */
export const trail = (house: TestHouse, action: string) =>
  house.sql(
    `select user_id, deal_id, subject_id, outcome, details, host(address) as address, request_id is not null as has_request
     from audit_records where action = $1 order by at desc, id desc`,
    [action],
  );
