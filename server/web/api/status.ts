/** The status of the service for the admins of a brokerage, without data of other brokerages. */

import { Hono } from 'hono';
import type { Services } from '../../services.ts';
import { brokerageOfCaller } from '../../domain/people/brokerages.ts';
import {
  backupJob,
  backupStatus,
  databaseVersions,
  jobStatus,
  queueStatus,
  webhookStatus,
} from '../../domain/service/status.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere } from '../../http/problem.ts';
import { version } from '../../telemetry/metrics.ts';
import { pathId } from './input.ts';

/** The status route, below /api/web. */
export function statusRoutes(services: Services) {
  const { s3, backup: backups } = services.config;
  // The file name of a migration without its extension.
  const named = (schema: string) => schema.replace(/\.sql$/, '');
  return new Hono().get('/brokerages/:id/status', async (c) => {
    const id = pathId(c);
    const [brokerage, queues, jobs, backup, database, webhooks] = await asPerson(
      services,
      c,
      brokerageOfCaller(id),
      queueStatus(id),
      jobStatus(id),
      backupStatus(id),
      databaseVersions(),
      webhookStatus(id),
    );
    if (!brokerage) throw nothingThere();
    if (!queues || !backup || !database) throw notAllowed();
    return c.json({
      versions: {
        product: version,
        node: process.versions.node,
        postgres: database.postgres,
        schema: named(database.schema),
      },
      jobs: jobs.filter(({ job }) => job !== backupJob),
      mail: {
        waiting: queues.mails_waiting,
        failing: queues.mails_failing,
        given_up: queues.mails_given_up,
        oldest_at: queues.oldest_mail_at,
      },
      notifications: {
        waiting: queues.events_waiting,
        failing: queues.events_failing,
        oldest_at: queues.oldest_event_at,
      },
      webhooks,
      backup: { every_seconds: backups.everyMillis === undefined ? null : backups.everyMillis / 1000, ...backup },
      // The bucket, its address and the directory are for the operator only.
      store: s3 ? ('bucket' as const) : ('directory' as const),
    });
  });
}
