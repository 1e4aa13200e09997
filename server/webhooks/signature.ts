/** Signatures of webhooks, as Standard Webhooks has them (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */

import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { ClaimedLot } from '../domain/webhooks/deliveries.ts';
import type { SealedSecret } from '../domain/webhooks/endpoints.ts';
import { secretRows, type Secrets } from '../secrets.ts';

const prefix = 'whsec_';

/** A new secret of 256 random bits, to be shown once, and as it is kept. */
export function mintWebhookSecret(secrets: Secrets): { secret: string; sealed: SealedSecret } {
  const secret = `${prefix}${randomBytes(32).toString('base64')}`;
  const id = randomUUID();
  return { secret, sealed: { id, secret: secrets.seal(secret, secretRows.webhook(id)) } };
}

/** The secrets that sign the deliveries of a lot. */
export const openedSecrets = (
  secrets: Secrets,
  { secret_ids, secrets: sealed }: Pick<ClaimedLot, 'secret_ids' | 'secrets'>,
): string[] => sealed.map((secret, nth) => secrets.open(secret, secretRows.webhook(secret_ids[nth]!)));

/** The headers of a delivery: `id` of the event, the time of the attempt, and a signature with each secret. */
export function signedHeaders(
  id: string,
  at: Date,
  body: string,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
