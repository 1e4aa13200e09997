/** Checks the queues: mails to send, events without notifications, changes and webhook deliveries. */

import type pg from 'pg';
import { plural } from '../../lib/plural.ts';
import type { Findings } from './finding.ts';

/** How long the oldest entry of a queue may wait, in seconds. */
const longest = 3_600;

/** How long changes may wait for transactions in progress, in seconds. */
const longestTransaction = 600;

/** Checks changes that are not published yet, and webhook deliveries. */
async function checkDeliveries(server: pg.Client, findings: Findings): Promise<void> {
  const { rows } = await server.query<Record<'held' | 'waiting' | 'failing' | 'oldest' | 'failed', number>>(
    `select coalesce(extract(epoch from app.now() - d.changes_since), 0)::float8 as held, d.deliveries_waiting::int as waiting,
       d.deliveries_failing::int as failing, coalesce(extract(epoch from app.now() - d.oldest_delivery_at), 0)::float8 as oldest,
       d.webhooks_failed::int as failed
     from app.delivery_state() d`,
  );
  const { held, waiting, failing, oldest, failed } = rows[0]!;
  if (held > longestTransaction)
    findings.warning(
      `Other systems have received no changes for ${Math.round(held / 60)} minutes: a transaction that began earlier is still open.`,
      'select pid, usename, state, xact_start, query from pg_stat_activity where backend_xid is not null order by xact_start shows it: end it with pg_terminate_backend(pid), and set idle_in_transaction_session_timeout.',
    );
  if (oldest > longest)
    findings.warning(
      `${plural(waiting, 'webhook delivery is', 'webhook deliveries are')} waiting (${failing} failed so far); the oldest has waited for ${Math.round(oldest / 60)} minutes.`,
      'The Webhooks page of the settings shows admins the responses of each receiver. If no receiver gets anything, check that a node is running and can reach the Internet.',
    );
  if (failed > 0)
    findings.warning(
      `${plural(failed, 'webhook was', 'webhooks were')} turned off because nothing was accepted for three days.`,
      'The admins of their brokerages were notified by e-mail. Once turned on again in the settings, each continues where it stopped.',
    );
}

/** Checks all queues. `owner`: the connection that can read why events failed, if there is one. */
export async function checkQueues(server: pg.Client, owner: pg.Client | null, findings: Findings): Promise<void> {
  const { rows } = await server.query<{
    given_up: number;
    mail_seconds: number;
    failing: number;
    event_seconds: number;
  }>(
    `select m.given_up::int, m.oldest_seconds as mail_seconds, s.events_failing::int as failing,
       coalesce(extract(epoch from app.now() - s.oldest_event_at), 0)::float8 as event_seconds
     from app.mail_counts() m, app.service_state() s`,
  );
  const [
    { given_up, mail_seconds, failing, event_seconds } = { given_up: 0, mail_seconds: 0, failing: 0, event_seconds: 0 },
  ] = rows;
  const before = findings.list.length;
  if (mail_seconds > longest)
    findings.warning(
      `The oldest e-mail has waited for ${Math.round(mail_seconds / 60)} minutes.`,
      'dealkeep mail list says why.',
    );
  if (given_up > 0)
    findings.warning(
      `${plural(given_up, 'e-mail was', 'e-mails were')} given up after the last attempt to send.`,
      'dealkeep mail list says why; dealkeep mail resend <id> sends one again. They are deleted after 90 days.',
    );
  if (failing > 0) {
    const reasons = await owner?.query<{ reason: string }>(
      'select distinct last_error as reason from vault.events where last_error is not null limit 3',
    );
    const said = reasons?.rows.map(({ reason }) => reason).join('; ');
    findings.warning(
      `Notifications for ${plural(failing, 'event')} could not be created so far${said ? `: ${said}` : ''}.`,
      'They are retried for some days. Check what the reason names; if it is not part of your setup, report the reason and the release.',
    );
  } else if (event_seconds > longest)
    findings.warning(
      `The oldest event without notifications has waited for ${Math.round(event_seconds / 60)} minutes.`,
      'Check that a node is running, and look for "sending notifications failed" in its log.',
    );
  await checkDeliveries(server, findings);
  if (findings.list.length === before) findings.ok('No e-mail, event or delivery has waited too long or was given up.');
}
