/** The parameters of an OAuth request, from a query, form or JSON body: parsed strictly, so that nothing is guessed. */

import { repeatedProperties } from '../http/json-text.ts';
import { isUuid } from '../lib/uuid.ts';

/** Each name with its values in order; null stands for a value that is not text: not UTF-8, or with a NUL. */
export class Parameters {
  readonly #values: ReadonlyMap<string, readonly (string | null)[]>;

  constructor(pairs: Iterable<readonly [name: string, value: string | null]>) {
    const values = new Map<string, (string | null)[]>();
    for (const [name, value] of pairs) {
      const held = values.get(name);
      if (held) held.push(value);
      else values.set(name, [value]);
    }
    this.#values = values;
  }

  /** The value of a parameter; undefined when it is absent, empty (RFC 6749, section 3.1), malformed or repeated. */
  one(name: string): string | undefined {
    const [value, ...others] = this.#values.get(name) ?? [];
    return others.length > 0 || value === null || value === '' ? undefined : value;
  }

  /** All values of a parameter that may be repeated, without empty ones. */
  all(name: string): string[] {
    return (this.#values.get(name) ?? []).filter((value): value is string => value !== null && value !== '');
  }

  isRepeated(name: string): boolean {
    return (this.#values.get(name)?.length ?? 0) > 1;
  }

  isMalformed(name: string): boolean {
    return this.#values.get(name)?.includes(null) ?? false;
  }
}

// The database stores no NUL, and no valid parameter has one.
const asText = (value: string): string | null => (value.includes('\0') ? null : value);

/**
 * After more than this many undecodable texts no further one is decoded: each costs as much as hundreds of valid ones.
 */
const mostBroken = 20;

/** Percent-decoding for one request: returns the text, or null when it cannot be decoded. */
function decoder(): (text: string) => string | null {
  let broken = 0;
  return (text) => {
    if (broken > mostBroken) return null;
    try {
      return asText(decodeURIComponent(text.replaceAll('+', ' ')));
    } catch {
      broken += 1;
      return null;
    }
  };
}

/** Reads a query or a form (application/x-www-form-urlencoded). */
export function urlencodedParameters(text: string): Parameters {
  const decoded = decoder();
  return new Parameters(
    text
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const equals = pair.indexOf('=');
        const name = equals < 0 ? pair : pair.slice(0, equals);
        return [decoded(name) ?? name, equals < 0 ? '' : decoded(pair.slice(equals + 1))] as const;
      }),
  );
}

/**
 * Reads a JSON object whose values are all strings; null for any other text. A name that occurs more than once counts
 * as repeated.
 */
export function jsonParameters(text: string): Parameters | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
  const pairs = Object.entries(parsed);
  if (!pairs.every((pair): pair is [string, string] => typeof pair[1] === 'string')) return null;
  const repeated = new Set([...repeatedProperties(text)].map(([name]) => name));
  const again = pairs.filter(([name]) => repeated.has(name));
  return new Parameters([...pairs, ...again].map(([name, value]) => [name, asText(value)]));
}

/** A client_id in the form that the service issues, or null: no client has any other. */
export function asClientId(value: string | undefined): string | null {
  return value !== undefined && isUuid(value) && value === value.toLowerCase() ? value : null;
}

/**
 * The scope with which OpenID Connect requests a refresh token (Core, section 11); ignored, since every client gets
 * one.
 */
const givenAnyway = 'offline_access';

/**
 * A space-separated list of scopes (RFC 6749, section 3.3), without duplicates and without offline_access; null when it
 * is missing or contains only offline_access.
 */
export function scopeList(value: string | undefined): string[] | null {
  if (value === undefined) return null;
  const listed = [...new Set(value.split(' ').filter((scope) => scope !== ''))];
  const asked = listed.filter((scope) => scope !== givenAnyway);
  return asked.length === 0 && listed.length > 0 ? null : asked;
}
