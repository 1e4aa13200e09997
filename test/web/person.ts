/**
 * A signed-in person for tests of the web application: the session is inserted, all other requests go through the
 * application's routes.
 */

import { csrfToken } from '../../server/http/csrf.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import type { TestService } from '../harness.ts';

export interface Answer {
  status: number;
  // The response's JSON of any shape, which tests check with toMatchObject.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

export interface SignedIn {
  /** The session's cookie, as a browser would hold it. */
  cookie: { name: string; value: string };
  headers: Record<string, string>;
  /** Sends a request to /api/web + path; a request with a body is a POST unless a method is given. */
  ask(path: string, body?: unknown, method?: string): Promise<Answer>;
}

/** Gives the user an active session, and returns how to send requests with it. */
export async function signInAs(service: TestService, userId: string): Promise<SignedIn> {
  const token = mintToken();
  await service.sql(`insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password')`, [
    userId,
    tokenDigest(token),
  ]);
  return signedInWith(service, token);
}

/** Returns how to send requests with the token of an active session. */
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
