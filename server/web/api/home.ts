/**
 * GET /home/pipeline: asking prices and earnings of the deals that the person runs. GET /home: tasks that wait for the
 * person, their invitations, the state of their deals, how many have no broker, and recent activity.
 */

import { Hono } from 'hono';
import type { Services } from '../../services.ts';
import { waitingInvitations } from '../../domain/deals/participants.ts';
import { home } from '../../domain/deals/home.ts';
import { pipeline } from '../../domain/deals/pipeline.ts';
import { dealsWithoutBroker } from '../../domain/deals/without-broker.ts';
import { waitingMemberships } from '../../domain/people/invitations.ts';
import { asPerson } from '../../http/person.ts';

/** The home routes, below /api/web. */
export function homeRoutes(services: Services) {
  return new Hono()
    .get('/home', async (c) => {
      const [{ queue, exclusivities, deals_by_state, activity }, invitations, memberships, deals_without_broker] =
        await asPerson(
          services,
          c,
          home(services.config.features.findings),
          waitingInvitations(),
          waitingMemberships(),
          dealsWithoutBroker(),
        );
      return c.json({ queue, invitations, memberships, exclusivities, deals_by_state, deals_without_broker, activity });
    })

    .get('/home/pipeline', async (c) => {
      const [found] = await asPerson(services, c, pipeline());
      return c.json(found);
    });
}
