/** A person of the demo with a browser session: signs in, consents, and obtains tokens for their client. */

import { createHash, randomBytes } from 'node:crypto';

export interface DemoPerson {
  readonly email: string;
  readonly password: string;
  readonly client_id: string;
}

/** Signs in and returns the Cookie header of the new session. */
export async function signIn(origin: string, { email, password }: DemoPerson): Promise<string> {
  const answer = await fetch(`${origin}/api/auth/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  if (!answer.ok) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`);
  return answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

const unescaped = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** Opens an authorization URL and approves the request; returns the URL to which the browser is redirected. */
export async function approve(origin: string, url: string, cookie: string): Promise<string> {
  const consent = await fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
  const markup = await consent.text();
  if (consent.status !== 200)
    throw new Error(`no consent page: ${consent.status} ${consent.headers.get('location') ?? markup}`);
  const form = /<form method="post" action="\/api\/mcp\/authorize">[\s\S]*?<\/form>/.exec(markup)?.[0] ?? '';
  const fields = new URLSearchParams();
  for (const [, name = '', value = ''] of form.matchAll(
    /<input type="(?:hidden|checkbox)" name="([^"]*)" value="([^"]*)"/g,
  ))
    fields.append(name, unescaped(value));
  fields.append('decision', 'approve');
  const decided = await fetch(`${origin}/api/mcp/authorize`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin, accept: 'text/html' },
    body: fields,
  });
  const location = decided.headers.get('location');
  if (location === null) throw new Error(`not redirected: ${decided.status} ${await decided.text()}`);
  return location;
}

/** Obtains an access token of the person for their own client, with both scopes. */
export async function accessToken(origin: string, person: DemoPerson, redirectUri: string): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: person.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'mcp:read mcp:write',
    state: randomBytes(8).toString('hex'),
  });
  const sent = await approve(origin, `${origin}/api/mcp/authorize?${query}`, await signIn(origin, person));
  const answer = await fetch(`${origin}/api/mcp/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(sent).searchParams.get('code') ?? '',
      code_verifier: verifier,
      client_id: person.client_id,
      redirect_uri: redirectUri,
    }),
  });
  if (!answer.ok) throw new Error(`token: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { access_token: string }).access_token;
}
