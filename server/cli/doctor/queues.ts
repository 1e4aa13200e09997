/** What waits: mails to be sent, and events to be told of. */

import type pg from 'pg';
import type { Findings } from './finding.ts';

/** How long the oldest may wait, in seconds. */
const longest = 3_600;

/** `owner`: the connection that reads why something failed, where there is one. */
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
      `People could not be told of ${failing} events so far${said ? `: ${said}` : ''}.`,
      'They are tried again for some days. Look for what the reason names; report it with the release when it names nothing of yours.',
    );
  } else if (event_seconds > longest)
    findings.warning(
      `The oldest event of which people are to be told has waited for ${Math.round(event_seconds / 60)} minutes.`,
      'See that a node runs, and look in its log for "telling people of what happened failed".',
    );
  if (findings.list.length === before) findings.ok('No mail and no event waits too long, and none was given up.');
}
