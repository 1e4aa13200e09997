/**
 * The secrets that the server encrypts and the database stores: checking that their keys are configured, and rotating
 * the keys.
 */

import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Database } from '../../database/database.ts';
import { mapped, row, type Statement } from '../../database/statement.ts';
import { inTransaction } from '../../database/transaction.ts';
import { keyIdOf, secretRows, UnknownKey, type Secrets } from '../../lib/secrets.ts';
import { requireKeyOnNodes } from '../service/nodes.ts';

const keys = row<{ ids: string[] }, []>('keys_of_secrets', 'select app.keys_of_secrets() as ids');

/** Returns the ids of the keys with which secrets in the database are encrypted. */
export const keysOfSecrets = (): Statement<string[]> => mapped(keys(), (found) => found?.ids ?? []);

/** Rejects with UnknownKey when a secret is encrypted with a key that is not configured. */
export async function requireKeysOfSecrets({
  database,
  secrets,
}: {
  readonly database: Database;
  readonly secrets: Secrets;
}): Promise<void> {
  const unknown = (await database.run(keysOfSecrets())).filter((id) => !secrets.keyIds.includes(id));
  if (unknown.length > 0) throw new UnknownKey(unknown);
}

/** How many secrets of each kind were encrypted again. */
export interface Rotated {
  readonly key: string;
  readonly authenticators: number;
  readonly mailed_links: number;
  readonly webhooks: number;
  readonly remembered_answers: number;
  /**
   * Whether the secret of unsubscribe links was renewed; false when the previous secret is still needed for links
   * already sent.
   */
  readonly unsubscribe_links: boolean;
}

/**
 * How long unsubscribe links work after their secret was renewed, in days. Laws require at least 30 after a mail was
 * sent.
 */
const unsubscribeDays = 60;

interface Stored {
  readonly id: string;
  readonly secret: string;
}

/** A stored response that shows a secret once (rest/writes.ts). */
interface StoredAnswer extends Stored {
  readonly idempotency_key: string;
}

/** Encrypts the secrets of `stored` that are not under the first key, under it, and returns them. */
const renewed = <S extends Stored>(stored: readonly S[], secrets: Secrets, rowOf: (id: string) => string): S[] =>
  stored
    .filter(({ secret }) => keyIdOf(secret) !== secrets.firstKey)
    .map((each) => ({ ...each, secret: secrets.seal(secrets.open(each.secret, rowOf(each.id)), rowOf(each.id)) }));

/**
 * Encrypts every secret under the first key, in one transaction on the owner's connection, and replaces the secrets
 * that seal cursors, drafts, unsubscribe links and identities within a transaction. Rejects with UnknownKey, and when a
 * running node lacks the first key; changes nothing then.
 */
export async function rotateSecrets(client: pg.ClientBase, secrets: Secrets): Promise<Rotated> {
  const { firstKey } = secrets;
  if (firstKey === null) throw new Error('There is no key to encrypt with.');
  return inTransaction(client, async () => {
    await requireKeyOnNodes(client, firstKey);
    const totp = await client.query<Stored>('select user_id as id, secret from vault.totp for update');
    const factors = renewed(totp.rows, secrets, secretRows.authenticator);
    const waiting = await client.query<Stored>(
      'select id, secret from vault.outbox where secret is not null and sent_at is null and given_up_at is null for update',
    );
    const links = renewed(waiting.rows, secrets, () => secretRows.mailedLinks);
    const signing = await client.query<Stored>('select id, secret from vault.webhook_secrets for update');
    const webhooks = renewed(signing.rows, secrets, secretRows.webhook);
    const remembered = await client.query<StoredAnswer>(
      `select key_id as id, idempotency_key, answer::json ->> 'sealed' as secret from vault.idempotency_keys
       where answer like '{"sealed":%' and made_at > app.now() - interval '24 hours' for update`,
    );
    const answers = renewed(remembered.rows, secrets, () => secretRows.answers);
    const update = (table: string, id: string, changed: readonly Stored[]) =>
      client.query(
        `update ${table} t set secret = c.secret from unnest($1::uuid[], $2::text[]) c (id, secret) where t.${id} = c.id`,
        [changed.map((each) => each.id), changed.map(({ secret }) => secret)],
      );
    await update('vault.totp', 'user_id', factors);
    await update('vault.outbox', 'id', links);
    await update('vault.webhook_secrets', 'id', webhooks);
    await client.query(
      `update vault.idempotency_keys t set answer = c.answer from unnest($1::uuid[], $2::text[], $3::text[]) c (key_id, idempotency_key, answer)
       where t.key_id = c.key_id and t.idempotency_key = c.idempotency_key`,
      [
        answers.map(({ id }) => id),
        answers.map(({ idempotency_key }) => idempotency_key),
        answers.map(({ secret }) => JSON.stringify({ sealed: secret })),
      ],
    );
    const cursors = secrets.seal(randomBytes(32).toString('base64'), secretRows.cursors);
    await client.query('update vault.cursor_secret set secret = $1', [Buffer.from(cursors)]);
    // Stored unencrypted: the database itself seals with it, and only its owner can read it.
    await client.query('update vault.seal set secret = $1', [randomBytes(32)]);
    // The previous secret stays valid for the mails sent with it; it is not renewed again within that time, as only one
    // previous secret is kept.
    const { rowCount } = await client.query(
      `update vault.unsubscribe_secret set previous = secret, previous_until = app.now() + interval '1 day' * $2, secret = $1
       where previous_until is null or previous_until <= app.now()`,
      [randomBytes(32), unsubscribeDays],
    );
    return {
      key: firstKey,
      authenticators: factors.length,
      mailed_links: links.length,
      webhooks: webhooks.length,
      remembered_answers: answers.length,
      unsubscribe_links: rowCount === 1,
    };
  });
}
