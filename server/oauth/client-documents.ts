/**
 * Clients that identify themselves by a document of their own (draft-ietf-oauth-client-id-metadata-document): their
 * `client_id` is its https URL. A document is fetched on behalf of a person who is signed in and cached as long as its
 * headers say. It is trusted only for the host that published it, the client's name, and its redirect URIs.
 */

import { readFileSync } from 'node:fs';
import { ConfigError, type Config } from '../config/config.ts';
import type { TakenDocuments } from '../domain/clients/connected-clients.ts';
import { anyPort, redirectUriFault, redirectUriLimits } from '../domain/clients/redirect-uris.ts';
import { lengths } from '../domain/lengths.ts';
import { faultOfUrl, guardedFetch, NotFetched, type GuardedAnswer } from '../http/guarded-fetch.ts';
import { tooMany } from '../http/request-limits.ts';
import { NoRoom } from '../lib/fair-queue.ts';
import type { Services } from '../services.ts';

/** The properties that are used of a document. */
export interface ClientDocument {
  /** The document's URL, which is the client_id. */
  readonly url: string;
  /** The client's name without unprintable characters; defaults to the host. At most 100 characters. */
  readonly name: string;
  /**
   * The document's redirect URIs that are allowed here; on loopback hosts without their port, since any port is
   * accepted (RFC 8252, section 7.3).
   */
  readonly redirectUris: readonly string[];
}

/** There is no such client; the message is for the person who was redirected here. */
export class BadDocument extends Error {
  override readonly name = 'BadDocument';
}

const { metadata_url: longestUrl } = lengths.connected_clients;
/** Characters of a name that are kept: enough for a name, too few for a sentence that reads like one of ours. */
const longestName = 40;
const limits = { millis: 5_000, bytes: 65_536 } as const;
/** Seconds after which all fetches in progress have ended. */
const again = limits.millis / 1_000;

/** Whether a client_id is meant to be the URL of a document. */
export const isDocumentUrl = (clientId: string): boolean => /^https?:\/\//i.test(clientId);

/**
 * The error in the URL of a document, or null (section 3 of the draft). Required are https, a path, the form that
 * browsers write, so that each URL has only one spelling, and a host that can be on the Internet.
 */
export function documentUrlFault(text: string, guard: Config['clientMetadata']['guard']): string | null {
  if (text.length > longestUrl) return `It is too long: at most ${longestUrl} characters.`;
  const url = URL.parse(text);
  if (url === null || url.href !== text) return 'It is not in the form in which browsers write addresses.';
  if (url.protocol !== 'https:') return 'It must begin with https://.';
  if (url.pathname === '/') return 'It has no path.';
  if (/[\\<>"#]/.test(text)) return 'It has characters that are not allowed in an address.';
  return faultOfUrl(text, guard);
}

/** Control characters, and characters that are invisible or change the text direction. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** Quotation marks, in which the consent page sets the name apart. Apostrophes stay. */
const quotation = /[^\P{Quotation_Mark}'‘’‚‛]/gu;

function nameOf(given: unknown, url: string): string {
  const text = typeof given === 'string' ? given : '';
  const shown = text.normalize('NFC').replaceAll(unseen, '').replaceAll(quotation, '').replaceAll(/\s+/g, ' ').trim();
  return [...shown].slice(0, longestName).join('').trim() || new URL(url).hostname;
}

const listed = (value: unknown): string[] | null =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : null;

/**
 * Whether the client can be public, without a secret: its only authentication method is none, or none is among the
 * supported ones.
 */
function isPublic(document: Readonly<Record<string, unknown>>): boolean {
  if (document['client_secret'] !== undefined || document['client_secret_expires_at'] !== undefined) return false;
  const { token_endpoint_auth_method: one = 'none', token_endpoint_auth_methods_supported: several } = document;
  return one === 'none' || (listed(several)?.includes('none') ?? false);
}

/** Reads a document that was fetched from `url`. Throws {@link BadDocument}. */
export function readDocument(url: string, found: unknown): ClientDocument {
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new BadDocument('The document at that address does not describe a client.');
  const document = found as Readonly<Record<string, unknown>>;
  if (document['client_id'] !== url)
    throw new BadDocument('The document at that address belongs to another client: its client_id is different.');
  if (!isPublic(document))
    throw new BadDocument(
      'The client signs in with a secret or a key of its own. Only clients without one are accepted here (token_endpoint_auth_method "none"), with PKCE.',
    );
  const grants = listed(document['grant_types'] ?? ['authorization_code']);
  const responses = listed(document['response_types'] ?? ['code']);
  if (!grants?.includes('authorization_code') || !responses?.includes('code'))
    throw new BadDocument('The client does not use authorization codes, and nothing else is supported here.');
  const uris = listed(document['redirect_uris']) ?? [];
  const redirectUris = [...new Set(uris.map(anyPort).filter((uri) => redirectUriFault(uri) === null))];
  if (redirectUris.length === 0)
    throw new BadDocument(
      'The document has no redirect URI that is accepted here: use https, or http on localhost, 127.0.0.1 or [::1].',
    );
  if (redirectUris.length > redirectUriLimits.count)
    throw new BadDocument(`The document has more than ${redirectUriLimits.count} redirect URIs.`);
  return { url, name: nameOf(document['client_name'], url), redirectUris };
}

/** The pinned documents, by URL. Throws a {@link ConfigError}. */
export function readPinned({ mode, file, guard }: Config['clientMetadata']): ReadonlyMap<string, ClientDocument> {
  if (file === undefined || mode === 'off') return new Map();
  const fault = (what: string) => new ConfigError([`CLIENT_METADATA_FILE: ${file} ${what}`]);
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw fault(`cannot be read as JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(found)) throw fault('must be an array of documents, as their publishers publish them.');
  return new Map(
    found.map((document: unknown, index) => {
      const url: unknown = (document as { client_id?: unknown } | null)?.client_id;
      if (typeof url !== 'string') throw fault(`has no client_id in entry ${index + 1}.`);
      const wrong = documentUrlFault(url, guard);
      if (wrong !== null) throw fault(`has an address in entry ${index + 1} that is none: ${wrong}`);
      try {
        return [url, readDocument(url, document)] as const;
      } catch (error) {
        throw fault(`cannot be used in entry ${index + 1}: ${(error as Error).message}`);
      }
    }),
  );
}

/**
 * The clients by their document that these settings accept; null accepts all. Clients that were connected under other
 * settings are rejected like any other. Throws a ConfigError when the pinned documents cannot be used.
 */
export function takenDocuments(settings: Config['clientMetadata']): TakenDocuments {
  if (settings.mode === 'on') return null;
  const pinned = readPinned(settings);
  return (url) => pinned.has(url);
}

const seconds = 1_000;
/**
 * How long a document is cached: at least a minute, so that one conversation fetches it once, and at most a day,
 * whatever its headers say.
 */
const kept = { least: 60 * seconds, usual: 300 * seconds, most: 86_400 * seconds } as const;

/**
 * Milliseconds for which a response may be cached, by its headers (RFC 9111, section 4.2.1), within the bounds of
 * `kept`.
 */
export function freshness({ headers }: Pick<GuardedAnswer, 'headers'>, now: Date): number {
  const control = (headers['cache-control'] ?? '').toLowerCase();
  const age = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(control)?.[1];
  const until = Date.parse(headers.expires ?? '');
  let millis: number = kept.usual;
  if (/(?:^|[\s,])no-(?:store|cache)/.test(control)) millis = 0;
  else if (age !== undefined) millis = (Number(age) - Number(headers.age ?? 0)) * seconds;
  else if (headers.expires !== undefined) millis = Number.isNaN(until) ? 0 : until - now.getTime();
  return Math.min(Math.max(Number.isNaN(millis) ? kept.usual : millis, kept.least), kept.most);
}

/**
 * Maximum number of cached documents, and of concurrent fetches: in total, and for one person, since the hosts may be
 * slow.
 */
const most = { kept: 500, fetched: 8, fetchedForOne: 2 } as const;

export interface ClientDocuments {
  /**
   * The client with this URL as its client_id, for `person`, for whom the number of fetches per minute is limited.
   * Rejects with {@link BadDocument}, and with {@link NoRoom} when the request can be retried later.
   */
  read(url: string, person: string): Promise<ClientDocument>;
}

/** The document cache of one node. Throws a ConfigError when the pinned documents cannot be used. */
export function openClientDocuments({ config, clock, limits: counts }: Services): ClientDocuments {
  const { mode, guard } = config.clientMetadata;
  const pinned = readPinned(config.clientMetadata);
  const cache = new Map<string, { readonly document: ClientDocument; readonly until: number }>();
  const underWay = new Map<string, { readonly person: string; readonly document: Promise<ClientDocument> }>();

  function keep(document: ClientDocument, millis: number): void {
    cache.delete(document.url);
    cache.set(document.url, { document, until: clock().getTime() + millis });
    // A Map iterates in insertion order: the first document was fetched longest ago.
    for (const [url] of cache) if (cache.size > most.kept) cache.delete(url);
  }

  async function fetched(url: string): Promise<ClientDocument> {
    const headers = { Accept: 'application/json, application/*+json;q=0.9' };
    const answer = await guardedFetch(url, { method: 'GET', headers }, { ...limits, ...guard });
    if (answer.status !== 200)
      throw new BadDocument(`There is no document at that address: it answered ${answer.status}.`);
    if (answer.fault) throw answer.fault;
    if (answer.isCut) throw new BadDocument(`The document is too large: at most ${limits.bytes} bytes.`);
    let found: unknown;
    try {
      found = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(answer.body));
    } catch {
      throw new BadDocument('The document at that address is not JSON.');
    }
    const document = readDocument(url, found);
    keep(document, freshness(answer, clock()));
    return document;
  }

  /** The document if the cached one is fresh, or if it is being fetched. */
  function atHand(url: string): ClientDocument | Promise<ClientDocument> | undefined {
    const known = cache.get(url);
    return known && known.until > clock().getTime() ? known.document : underWay.get(url)?.document;
  }

  return {
    async read(url, person) {
      const fixed = pinned.get(url);
      if (fixed) return fixed;
      if (mode !== 'on')
        throw new BadDocument(
          'Only clients that were registered, or that the operator of this service allows, are accepted here.',
        );
      const before = atHand(url);
      if (before) return before;
      const count = await counts.take('client_metadata', person);
      if (!count.allowed) throw new NoRoom('own', count.retryAfter, tooMany('new clients', count));
      // Another request may have started the fetch while this one was counted.
      const meanwhile = atHand(url);
      if (meanwhile) return meanwhile;
      if ([...underWay.values()].filter((one) => one.person === person).length >= most.fetchedForOne)
        throw new NoRoom('own', again, 'Two clients are already being looked up for you: try again shortly.');
      if (underWay.size >= most.fetched)
        throw new NoRoom('all', again, 'Too many clients are being looked up: try again shortly.');
      const document = fetched(url)
        .catch((error: unknown) => {
          throw error instanceof NotFetched ? new BadDocument(error.message, { cause: error }) : error;
        })
        .finally(() => underWay.delete(url));
      underWay.set(url, { person, document });
      return document;
    },
  };
}
