/**
 * GET /home/pipeline: asking prices and earnings of the deals that the person runs. GET /home: tasks that wait for the
 * person, their invitations, the deals that they do not see yet, the state of the others, how many have no broker, and
 * recent activity.
 */

import { Hono } from 'hono';
import type { Services } from '../../services.ts';
import { waitingInvitations, waitingPlaces } from '../../domain/deals/participants.ts';
import { home } from '../../domain/deals/home.ts';
import { pipeline } from '../../domain/deals/pipeline.ts';
import { dealsWithoutBroker } from '../../domain/deals/without-broker.ts';
import { waitingMemberships } from '../../domain/people/invitations.ts';
import { asPerson } from '../../http/person.ts';

/** The home routes, below /api/web. */
export function homeRoutes(services: Services) {
  return new Hono()
    .get('/home', async (c) => {
      const [found, invitations, memberships, waiting_places, deals_without_broker] = await asPerson(
        services,
        c,
        home(services.config.features.findings),
        waitingInvitations(),
        waitingMemberships(),
        waitingPlaces(),
        dealsWithoutBroker(),
      );
      return c.json({ ...found, invitations, memberships, waiting_places, deals_without_broker });
    })

    .get('/home/pipeline', async (c) => {
      const [found] = await asPerson(services, c, pipeline());
      return c.json(found);
    });
}
