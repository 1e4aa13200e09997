/** The scene of docs/visibility.md behind a listening service, and its people signed in to the web application. */

import { openService, type ServiceOptions, type TestService } from '../harness.ts';
import type { Scene } from '../policies/scene.ts';
import { signInAs, type SignedIn } from './person.ts';

export interface WebScene {
  readonly service: TestService;
  readonly scene: Scene;
  /** Signs a caller of the scene in; later calls return the same session. */
  as(caller: string): Promise<SignedIn>;
  close(): Promise<void>;
}

/** Opens a service with the scene in it; call in beforeAll, and `close` it in afterAll. */
export async function openScene(options: ServiceOptions = {}): Promise<WebScene> {
  const service = await openService({ ...options, scene: true });
  const { scene } = service;
  const sessions = new Map<string, Promise<SignedIn>>();
  return {
    service,
    scene,
    as(caller) {
      const userId = scene.people[caller];
      if (userId === undefined) throw new Error(`Nobody in the scene is called ${caller}.`);
      const session = sessions.get(caller) ?? signInAs(service, userId);
      sessions.set(caller, session);
      return session;
    },
    close: () => service.close(),
  };
}

/** The audit records of this action, newest first. */
export const trail = (service: TestService, action: string) =>
  service.sql(
    `select user_id, deal_id, subject_id, outcome, details, host(address) as address, request_id is not null as has_request
     from audit_records where action = $1 order by at desc, id desc`,
    [action],
  );
