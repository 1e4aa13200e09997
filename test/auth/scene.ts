/** People who sign in, and a visitor that keeps cookies and sends requests as the application's pages do. */

import { randomBytes } from 'node:crypto';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import type { TestService } from '../harness.ts';
import { addClient, connect } from '../oauth/scene.ts';

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

/** Returns a password that nobody could guess, different in every run. */
export const newPassword = (): string => `pass ${randomBytes(12).toString('base64url')}`;

let count = 0;

/** Creates a person with a password. */
export async function openAccount(service: TestService, given: Partial<Account> = {}): Promise<Account> {
  count += 1;
  const { email = `person${count}@example.com`, name = `Person ${count}`, password = newPassword() } = given;
  const [user] = await service.sql<{ id: string }>('insert into users (email, name) values ($1, $2) returning id', [
    email,
    name,
  ]);
  await service.sql('insert into vault.passwords (user_id, phc, address_proven_at) values ($1, $2, app.now())', [
    user?.id,
    await hashPassword(password, service.config.passwordParameters),
  ]);
  return { id: user?.id ?? '', email, name, password };
}

/** Creates a brokerage, Harbor Brokers, and its admin. */
export async function openBrokerage(service: TestService): Promise<{ id: string; admin: Account }> {
  const admin = await openAccount(service, { name: 'Ada Admin' });
  const [made] = await service.sql<{ id: string }>(
    `with made as (insert into brokerages (slug, name)
       select 'harbor-' || count(*), 'Harbor Brokers' from brokerages returning id)
     insert into members (brokerage_id, user_id, role) select id, $1, 'admin' from made returning brokerage_id as id`,
    [admin.id],
  );
  return { id: made?.id ?? '', admin };
}

/** A person's browser: keeps cookies, sends JSON, and does not follow redirects. */
export class Visitor {
  readonly origin: string;
  readonly cookies = new Map<string, string>();
  readonly headers: Record<string, string>;

  constructor(origin: string, headers: Record<string, string> = {}) {
    this.origin = origin;
    this.headers = headers;
  }

  async send(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(new URL(path, this.origin), {
      ...init,
      redirect: 'manual',
      headers: { ...this.headers, ...(cookie ? { cookie } : {}), ...init.headers },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  get(path: string): Promise<Response> {
    return this.send(path, { headers: { accept: 'text/html' } });
  }

  async json<T = Record<string, unknown>>(
    path: string,
    body: unknown = {},
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: T; headers: Headers }> {
    const response = await this.send(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
    return { status: response.status, body: (await response.json()) as T, headers: response.headers };
  }

  /** The response of GET /api/auth/session, or null when signed out. */
  async session(): Promise<{
    user: { id: string; email: string };
    csrf_token: string;
    recently_authenticated: boolean;
  } | null> {
    const response = await this.send('/api/auth/session');
    return response.status === 200
      ? ((await response.json()) as NonNullable<Awaited<ReturnType<Visitor['session']>>>)
      : null;
  }

  /** Sends a change with the CSRF token of the session, as a signed-in program does. */
  async change<T = Record<string, unknown>>(path: string, body: unknown = {}) {
    const csrf = (await this.session())?.csrf_token ?? '';
    return this.json<T>(path, body, { 'x-csrf-token': csrf });
  }

  signIn(account: { email: string; password: string }, more: Record<string, string> = {}) {
    return this.json<{ user?: { id: string }; csrf_token?: string; error?: { code: string; message: string } }>(
      '/api/auth/sign-in',
      { email: account.email, password: account.password, ...more },
    );
  }
}

/** Signs a person in; returns the visitor. */
export async function signedInVisitor(service: TestService, account: Account): Promise<Visitor> {
  const visitor = new Visitor(service.origin);
  const { status } = await visitor.signIn(account);
  if (status !== 200) throw new Error(`signing in gave ${status}`);
  return visitor;
}

/** Returns the statements by which a mailed link resets a person's password. */
export function resetOf(userId: string): (readonly [text: string, values: readonly unknown[]])[] {
  const digest = tokenDigest(mintToken());
  return [
    ['insert into vault.password_resets (digest, user_id) values ($1, $2)', [digest, userId]],
    [`select app.reset_password($1, '$argon2id$v=19$m=8,t=1,p=1$AAAA$AAAA', null, 'reset')`, [digest]],
  ];
}

/** Returns the token in the last mail whose subject contains these words. */
export async function mailedToken(service: TestService, subject: string): Promise<string> {
  const mail = (await service.deliver()).findLast((sent) => sent.subject.includes(subject));
  return /[#&]token=([A-Za-z0-9_-]{43})/.exec(mail?.text ?? '')?.[1] ?? '';
}

/** Returns the request by which a program looks up an invitation. */
export const lookUp = (token: string | null | undefined): RequestInit => ({
  method: 'POST',
  body: JSON.stringify({ token }),
  headers: { 'content-type': 'application/json' },
});

/**
 * Creates a calendar link for the signed-in person; returns a function that tells whether the link still shows their
 * deadlines.
 */
export async function subscribe(service: TestService, browser: Visitor): Promise<() => Promise<boolean>> {
  const { body } = await browser.change<{ url: string }>('/api/web/notifications/calendar');
  return async () => {
    const response = await fetch(body.url.replace(service.config.baseUrl, service.origin));
    await response.text();
    return response.status === 200;
  };
}

/** Connects a client by consent; returns a function that tells whether the tool server still accepts the client. */
export async function connectClient(
  service: TestService,
  { id, name, email }: Account,
  browser: Visitor,
): Promise<() => Promise<boolean>> {
  const session = browser.cookies.get('dealkeep') ?? '';
  const person = { id, name, email, session, cookie: `dealkeep=${session}` };
  const { access } = await connect(service, person, await addClient(service, person));
  return async () => {
    const response = await fetch(`${service.mcpUrl}/api/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${access}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
    await response.text();
    return response.status !== 401;
  };
}
