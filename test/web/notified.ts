/** Who is notified of which actions, which people do over HTTP. */

import { expect } from 'vitest';
import { createNotifications, queueReminders } from '../../server/domain/notifications/events.ts';
import { scheduledJobs } from '../../server/scheduled-jobs.ts';
import type { WebScene } from './scene.ts';

/** The recipients of the notifications since the last call, by kind. */
export async function notifiedIn(web: WebScene): Promise<Record<string, string[]>> {
  while ((await web.service.database.run(createNotifications(100))) > 0);
  const rows = await web.service.sql<{ kind: string; user_id: string }>(
    `with looked as (update vault.notifications set read_at = app.now() where read_at is null returning kind, user_id)
     select kind, user_id from looked`,
  );
  const known = new Map(Object.entries(web.scene.people).map(([name, id]) => [id, name]));
  const by: Record<string, string[]> = {};
  for (const { kind, user_id } of rows) (by[kind] ??= []).push(known.get(user_id) ?? user_id);
  return Object.fromEntries(Object.entries(by).map(([kind, people]) => [kind, people.toSorted()]));
}

/** Sends a request that must succeed; returns the response's body. */
export async function doesIn(web: WebScene, who: string, path: string, body: unknown = {}, method = 'POST') {
  const { status, body: answer } = await (await web.as(who)).ask(path, body, method);
  expect(status, `${who}: ${method} ${path}: ${JSON.stringify(answer)}`).toBeLessThan(300);
  return answer;
}

/** Sets the clock and runs the jobs that depend on it; returns who is notified. */
export async function notifiedBy(web: WebScene, time: Date): Promise<Record<string, string[]>> {
  web.service.clock.set(time);
  for (const { name, job } of scheduledJobs)
    if (/sweep|queue_reminders/.test(name)) await web.service.database.run(job());
  await web.service.database.run(queueReminders());
  return notifiedIn(web);
}
