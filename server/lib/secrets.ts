/**
 * Encrypts secrets that the database keeps and that we need in clear again: AES-256-GCM under a key of SECRETS_KEY. What is stored
 * says which key it is under, and fits the row that it was made for alone. Without SECRETS_KEY it is stored as it is.
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
  /** How `text` is stored for `row` ("vault.totp 01a1…"): encrypted under the first key, or as it is where there is none. */
  seal(text: string, row: string): string;
  /** What was stored for `row`; text that is not encrypted is given back as it is. Throws {@link UnknownKey}, and an error when it was changed or is another row's. */
  open(stored: string, row: string): string;
  /** The id of the key that encrypts; null without SECRETS_KEY. */
  readonly firstKey: string | null;
  /** The ids of all keys, by which what they encrypted is known. */
  readonly keyIds: readonly string[];
}

/** Something is encrypted with a key that SECRETS_KEY does not hold; the message says what to do. */
export class UnknownKey extends Error {
  override readonly name = 'UnknownKey';
  constructor(keyIds: readonly string[]) {
    super(
      `Secrets in the database are encrypted with a key that SECRETS_KEY does not hold (${keyIds.join(', ')}). Put that key back, behind the newest one and a comma, until dealkeep secrets rotate has run.`,
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

/** The key made of a text of SECRETS_KEY, and an id that does not reveal it. */
function keyOf(text: string): Key {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', text, '', `dealkeep secrets ${purpose}`, 32));
  return {
    id: createHash('sha256').update(derive('id')).digest('hex').slice(0, 8),
    key: createSecretKey(derive('encryption')),
  };
}

/** The id of the key that something stored is encrypted with; null when it is not encrypted. */
export const keyIdOf = (stored: string): string | null => /^dk1\.([0-9a-f]{8})\./.exec(stored)?.[1] ?? null;

/** The secrets of these keys, of which the first encrypts and all decrypt. */
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

/** The rows that secrets are sealed for. */
export const secretRows = {
  authenticator: (userId: string): string => `vault.totp ${userId}`,
  cursors: 'vault.cursor_secret',
  /** Of any mail: its id is not known yet when the link is made, and a link works for what its token's digest stands for alone. */
  mailedLinks: 'vault.outbox',
  webhook: (secretId: string): string => `vault.webhook_secrets ${secretId}`,
  /** Of any remembered answer that shows a secret once. */
  answers: 'vault.repeated_requests',
} as const;
