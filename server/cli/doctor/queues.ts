/** Checks the queues: mails to send, events without notifications, changes and webhook deliveries. */

import type pg from 'pg';
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
      `For ${Math.round(held / 60)} minutes other systems have received no changes: a transaction that began before them is still under way.`,
      'select pid, usename, state, xact_start, query from pg_stat_activity where backend_xid is not null order by xact_start shows it: end it by pg_terminate_backend(pid), and set idle_in_transaction_session_timeout.',
    );
  if (oldest > longest)
    findings.warning(
      `${waiting} webhook deliveries are waiting, ${failing} of which have failed so far; the oldest has waited for ${Math.round(oldest / 60)} minutes.`,
      'The page Webhooks of the settings shows their admins what each receiver answers. When none receives anything, see that a node runs and reaches the Internet.',
    );
  if (failed > 0)
    findings.warning(
      `${failed} webhooks were turned off because nothing was accepted for three days.`,
      'The admins of their brokerages have a mail about it. Turned on again in the settings, each continues where it stopped.',
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
      `The oldest mail has waited for ${Math.round(mail_seconds / 60)} minutes.`,
      'dealkeep mail list says why.',
    );
  if (given_up > 0)
    findings.warning(
      `${given_up} mails were given up.`,
      'dealkeep mail list says why; dealkeep mail resend <id> sends one again. They are deleted 90 days after.',
    );
  if (failing > 0) {
    const reasons = await owner?.query<{ reason: string }>(
      'select distinct last_error as reason from vault.events where last_error is not null limit 3',
    );
    const said = reasons?.rows.map(({ reason }) => reason).join('; ');
    findings.warning(
      `No notifications could be made of ${failing} events so far${said ? `: ${said}` : ''}.`,
      'They are tried again for some days. Check what the reason names; if it names nothing of yours, report it with the release.',
    );
  } else if (event_seconds > longest)
    findings.warning(
      `The oldest event without its notifications has waited for ${Math.round(event_seconds / 60)} minutes.`,
      'See that a node runs, and look in its log for "sending notifications failed".',
    );
  await checkDeliveries(server, findings);
  if (findings.list.length === before) findings.ok('No mail, event or delivery waits too long, and none was given up.');
}
