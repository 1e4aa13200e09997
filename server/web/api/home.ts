/** GET /home: what waits for the person, their invitations, how their deals stand, what happened lately. */

import { Hono } from 'hono';
import type { Services } from '../../services.ts';
import { latestActivity } from '../../domain/audit/latest-activity.ts';
import { waitingInvitations } from '../../domain/deals/participants.ts';
import { dealsNow, queue } from '../../domain/deals/home.ts';
import { asPerson } from '../../http/person.ts';

export function homeRoutes(services: Services) {
  return new Hono().get('/home', async (c) => {
    const [waiting, invitations, { exclusivities, deals_by_state }, activity] = await asPerson(
      services,
      c,
      queue(services.config.features.findings),
      waitingInvitations(),
      dealsNow(),
      latestActivity(),
    );
    return c.json({ queue: waiting, invitations, exclusivities, deals_by_state, activity });
  });
}
