/** A signed-in person for tests of the web application: their session is arranged, everything else goes through its routes. */

import { csrfToken } from '../../server/http/csrf.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import type { TestService } from '../harness.ts';

export interface Answer {
  status: number;
  // Whatever was answered: tests look into it with toMatchObject.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

export interface SignedIn {
  /** The session's cookie, as a browser would hold it. */
  cookie: { name: string; value: string };
  headers: Record<string, string>;
  /** Asks /api/web + path; a body makes it a POST unless a method is named. */
  ask(path: string, body?: unknown, method?: string): Promise<Answer>;
}

/** Gives the user a live session and says how to ask in their name. */
export async function signInAs(service: TestService, userId: string): Promise<SignedIn> {
  const token = mintToken();
  await service.sql(`insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password')`, [
    userId,
    tokenDigest(token),
  ]);
  return signedInWith(service, token);
}

/** How to ask with the token of a live session. */
export function signedInWith(service: TestService, token: string): SignedIn {
  const cookie = { name: 'dealkeep', value: token };
  const headers = {
    cookie: `${cookie.name}=${cookie.value}`,
    'x-csrf-token': csrfToken(token),
    origin: service.config.baseUrl,
  };
  return {
    cookie,
    headers,
    async ask(path, body, method = body === undefined ? 'GET' : 'POST') {
      const response = await fetch(`${service.origin}/api/web${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
  };
}
