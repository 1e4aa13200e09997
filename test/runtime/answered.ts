/** A receiver of webhooks that failed, and answered with what it had been sent. */

import type { TestService } from '../harness.ts';
import { issueKey } from '../rest/scene.ts';

/** Adds a failed delivery about a record, with its answer, of a webhook of the brokerage. */
export async function answeredAbout(
  service: TestService,
  brokerage: { readonly id: string; readonly admin: string },
  record: string,
  answer: string,
): Promise<void> {
  const key = await issueKey(service, brokerage);
  await service.sql(
    `with endpoint as (
       insert into webhook_endpoints (key_id, url, state, off_reason, off_since, place, history)
       select $1, 'https://receiver.example/', 'off', 'asked', app.now(), published, history from vault.change_stream returning id)
     insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, state, ended_at, answer, answer_type)
     select id, gen_random_uuid(), 'contact.updated', 'contact', $2, app.now(), 'failed', app.now(), $3, 'text/plain' from endpoint`,
    [key.id, record, answer],
  );
}
