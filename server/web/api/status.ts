/** How the service is doing, for the admins of a brokerage: nothing of it tells of another brokerage. */

import { Hono } from 'hono';
import type { Services } from '../../services.ts';
import { brokerageOfCaller } from '../../domain/people/brokerages.ts';
import { databaseVersions, jobStatus, mailStatus } from '../../domain/service/status.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere } from '../../http/problem.ts';
import { version } from '../../measures.ts';
import { pathId } from './input.ts';

export function statusRoutes(services: Services) {
  const { s3 } = services.config;
  return new Hono().get('/brokerages/:id/status', async (c) => {
    const id = pathId(c);
    const [brokerage, mail, jobs, database] = await asPerson(
      services,
      c,
      brokerageOfCaller(id),
      mailStatus(id),
      jobStatus(id),
      databaseVersions(),
    );
    if (!brokerage) throw nothingThere();
    if (!mail || !database) throw notAllowed();
    return c.json({
      versions: { product: version, node: process.versions.node, ...database },
      jobs,
      mail,
      // Where exactly, is the operator's: bucket, address and directory stay out.
      store: s3 ? ('bucket' as const) : ('directory' as const),
    });
  });
}
