/** Verifies that a webhook was sent by the service (Standard Webhooks, https://www.standardwebhooks.com). */

import type { WebhookEvent } from './generated.ts';

export interface WebhookRequest {
  /** The raw body, before anything parsed it. */
  readonly body: string | Uint8Array;
  readonly headers:
    { get(name: string): string | null | undefined } | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the webhook, `whsec_…`; both secrets while one is being replaced. */
  readonly secret: string | readonly string[];
  /** Maximum difference between the timestamp of the request and the clock here, in seconds; default 300. */
  readonly tolerance?: number;
  readonly now?: Date;
}

/** The request was not sent by the service, or is too old: respond with 400 and ignore it. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}

const mostSignatures = 10;

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function headerOf(headers: WebhookRequest['headers'], name: string): string {
  // Not only of the global class: a runtime or a test may have its own.
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
  return typeof value === 'string' ? value : value.join(' ');
}

type Key = Parameters<typeof crypto.subtle.verify>[1];

async function keyOf(secret: string): Promise<Key> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0)
    throw new TypeError('The secret of a webhook must be whsec_ followed by base64.');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function signedText(id: string, timestamp: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const [head, rest] = [encoder.encode(`${id}.${timestamp}.`), typeof body === 'string' ? encoder.encode(body) : body];
  const whole = new Uint8Array(head.length + rest.length);
  whole.set(head);
  whole.set(rest, head.length);
  return whole;
}

/** Verifies a webhook and returns its event. Throws {@link WebhookRefused} if the service did not send it. Signatures are compared in constant time. */
export async function verifyWebhook<Event = WebhookEvent>({
  body,
  headers,
  secret,
  tolerance = 300,
  now = new Date(),
}: WebhookRequest): Promise<{ id: string; event: Event }> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string];
  if (id === '' || signatures === '' || !/^\d{1,12}$/.test(timestamp))
    throw new WebhookRefused('The header webhook-id, webhook-timestamp or webhook-signature is missing or invalid.');
  if (Math.abs(now.getTime() / 1_000 - Number(timestamp)) > tolerance)
    throw new WebhookRefused('The timestamp is too old, or the clocks differ.');
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    throw new TypeError('body must be the raw body of the request, before anything parsed it.');
  const secrets = [secret].flat().filter((one) => typeof one === 'string' && one !== '');
  if (secrets.length === 0) throw new TypeError('secret is missing: give the secret of the webhook.');
  const text = signedText(id, timestamp, body);
  const given = signatures
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .slice(0, mostSignatures);
  for (const one of secrets) {
    const key = await keyOf(one);
    for (const signature of given) {
      const bytes = bytesOf(signature.slice('v1,'.length));
      if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, text)))
        return { id, event: JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as Event };
    }
  }
  throw new WebhookRefused('No signature matches the secret.');
}
