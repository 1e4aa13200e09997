/** GET /home: what waits for the person, their invitations, how their deals stand, what happened lately. */

import { Hono } from 'hono';
import type { House } from '../../context.ts';
import { latestActivity } from '../../domain/activity.ts';
import { waitingInvitations } from '../../domain/deal-people.ts';
import { dealsByState, queue, runningExclusivities } from '../../domain/home.ts';
import { asPerson } from './person.ts';

export function homeRoutes(house: House): Hono {
  return new Hono().get('/home', async (c) => {
    const [waiting, invitations, exclusivities, deals_by_state, activity] = await asPerson(
      house,
      c,
      queue(house.config.features.findings),
      waitingInvitations(),
      runningExclusivities(),
      dealsByState(),
      latestActivity(),
    );
    return c.json({ queue: waiting, invitations, exclusivities, deals_by_state, activity });
  });
}
