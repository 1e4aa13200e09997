/**
 * Signatures of webhooks according to Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */

import { createHmac, createSecretKey, randomBytes, randomUUID, type KeyObject } from 'node:crypto';
import type { ClaimedBatch } from '../domain/webhooks/deliveries.ts';
import type { SealedSecret } from '../domain/webhooks/endpoints.ts';
import { secretRows, type Secrets } from '../lib/secrets.ts';

const prefix = 'whsec_';

/** Returns a new secret of 256 random bits, to be shown once, and the sealed secret, to be stored. */
export function mintWebhookSecret(secrets: Secrets): { secret: string; sealed: SealedSecret } {
  const secret = `${prefix}${randomBytes(32).toString('base64')}`;
  const id = randomUUID();
  return { secret, sealed: { id, secret: secrets.seal(secret, secretRows.webhook(id)) } };
}

/** The keys that sign the deliveries of a batch, one for each secret. */
export type SigningKeys = readonly KeyObject[];

/**
 * Returns the keys that sign the deliveries of a batch. They are created once per batch: creating a key costs more than
 * a signature.
 */
export const signingKeys = (
  secrets: Secrets,
  { secret_ids, secrets: sealed }: Pick<ClaimedBatch, 'secret_ids' | 'secrets'>,
): SigningKeys =>
  sealed.map((one, nth) => {
    const secret = secrets.open(one, secretRows.webhook(secret_ids[nth]!));
    return createSecretKey(secret.slice(prefix.length), 'base64');
  });

/** Returns the headers of a delivery: the event's `id`, the time of the attempt, and a signature with each key. */
export function signedHeaders(id: string, at: Date, body: string, keys: SigningKeys): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
