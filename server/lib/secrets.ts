/**
 * Encrypts secrets in the database that are needed in clear text again: AES-256-GCM under a key of SECRETS_KEY. The
 * stored text names its key, and can be decrypted only for the row that it was made for. Without SECRETS_KEY secrets
 * are stored in clear text.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';

export interface Secrets {
  /**
   * The form in which `text` is stored for `row` ("vault.totp 01a1…"): encrypted under the first key, or unchanged
   * without a key.
   */
  seal(text: string, row: string): string;
  /**
   * The secret that was stored for `row`; text that is not encrypted is returned unchanged. Throws {@link UnknownKey},
   * and an error when the stored text was changed or belongs to another row.
   */
  open(stored: string, row: string): string;
  /** The id of the key used for encryption; null without SECRETS_KEY. */
  readonly firstKey: string | null;
  /** The ids of all keys, as they appear in encrypted text. */
  readonly keyIds: readonly string[];
}

/** Something is encrypted with a key that SECRETS_KEY does not contain; the message says what to do. */
export class UnknownKey extends Error {
  override readonly name = 'UnknownKey';
  constructor(keyIds: readonly string[]) {
    super(
      `Secrets in the database are encrypted with a key that SECRETS_KEY does not contain (${keyIds.join(', ')}). Put that key back after the newest one, separated by a comma, until dealkeep secrets rotate has run.`,
    );
  }
}

const mark = 'dk1';
const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

interface Key {
  readonly id: string;
  readonly key: KeyObject;
}

/** The key derived from a text of SECRETS_KEY, and an id that does not reveal it. */
function keyOf(text: string): Key {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', text, '', `dealkeep secrets ${purpose}`, 32));
  return {
    id: createHash('sha256').update(derive('id')).digest('hex').slice(0, 8),
    key: createSecretKey(derive('encryption')),
  };
}

/** The id of the key that a stored text is encrypted with; null when it is not encrypted. */
export const keyIdOf = (stored: string): string | null => /^dk1\.([0-9a-f]{8})\./.exec(stored)?.[1] ?? null;

/** Secrets under these keys: the first encrypts, all of them decrypt. */
export function openSecrets(texts: readonly string[]): Secrets {
  const keys = texts.map(keyOf);
  const first = keys[0];
  return {
    firstKey: first?.id ?? null,
    keyIds: keys.map(({ id }) => id),
    seal(text, row) {
      if (first === undefined) return text;
      const iv = randomBytes(ivBytes);
      const sealing = createCipheriv(cipher, first.key, iv, { authTagLength: tagBytes }).setAAD(Buffer.from(row));
      const bytes = Buffer.concat([iv, sealing.update(text, 'utf8'), sealing.final(), sealing.getAuthTag()]);
      return `${mark}.${first.id}.${bytes.toString('base64url')}`;
    },
    open(stored, row) {
      const id = keyIdOf(stored);
      if (id === null) return stored;
      const found = keys.find((each) => each.id === id);
      if (found === undefined) throw new UnknownKey([id]);
      const bytes = Buffer.from(stored.slice(mark.length + id.length + 2), 'base64url');
      if (bytes.length < ivBytes + tagBytes) throw new Error('An encrypted secret is not complete.');
      const opening = createDecipheriv(cipher, found.key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      opening.setAAD(Buffer.from(row)).setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([opening.update(bytes.subarray(ivBytes, -tagBytes)), opening.final()]).toString('utf8');
    },
  };
}

/** The row names that secrets are encrypted for. */
export const secretRows = {
  authenticator: (userId: string): string => `vault.totp ${userId}`,
  cursors: 'vault.cursor_secret',
  /**
   * Shared by all mails: a mail's id is not known yet when its link is made, and a link works only for what its token's
   * digest stands for.
   */
  mailedLinks: 'vault.outbox',
  webhook: (secretId: string): string => `vault.webhook_secrets ${secretId}`,
  /** Shared by all remembered responses that show a secret once. */
  answers: 'vault.repeated_requests',
} as const;
