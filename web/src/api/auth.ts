/** Signing in and out, and what comes before there is a session. */
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { queryOptions } from '@tanstack/react-query';
import { authApi, keepCsrf } from './client.ts';
import type { Id } from './shapes.ts';

/** Where a sign-in stands: done, or waiting for the second factor. */
export type SignInAnswer = { outcome: 'signed_in'; csrf_token: string } | { outcome: 'second_factor' };

/** What this installation offers to whoever is not signed in. */
export interface SignInWays {
  /** Whether the first brokerage is still to be set up. */
  set_up_open: boolean;
  /** An outside provider, by the name to show. */
  provider: { name: string; url: string } | null;
}

export interface Session {
  user: { id: Id; email: string; name: string };
  csrf_token: string;
}

export interface Invitation {
  email: string;
  name: string;
  role: string;
  kind: 'brokerage' | 'deal';
  brokerage_name: string;
  deal_title: string | null;
  /** Whether the person has an account already and only needs to sign in. Null: not told, for the link was passed on. */
  has_password: boolean | null;
}

export const signInWaysQuery = queryOptions({
  queryKey: ['sign-in-ways'],
  queryFn: ({ signal }) => authApi.get<SignInWays>('/auth/ways', { signal }),
  staleTime: 60_000,
});

/** Who is signed in, asked where that is not sure; fails with 401 for nobody. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    const session = await authApi.get<Session>('/auth/session', { signal });
    keepCsrf(session.csrf_token);
    return session;
  },
  retry: false,
  gcTime: 0,
});

export const invitationQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation', token],
    queryFn: ({ signal }) => authApi.post<Invitation>('/auth/invitation', { token }, { signal }),
    retry: false,
  });

/** The session changes with each step of signing in, and its CSRF token with it. */
async function step(path: string, body: object): Promise<SignInAnswer> {
  const answer = await authApi.post<SignInAnswer>(path, body);
  if (answer.outcome === 'signed_in') keepCsrf(answer.csrf_token);
  return answer;
}

export function signIn(email: string, password: string): Promise<SignInAnswer> {
  return step('/auth/sign-in', { email, password });
}

/** Finishes a sign-in with a code of the authenticator, or with a recovery code. */
export function finishSignIn(code: string): Promise<SignInAnswer> {
  return step('/auth/second-factor', { code });
}

/** Signs in with a passkey that the browser or the person's device holds. */
export async function signInWithPasskey(): Promise<SignInAnswer> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const optionsJSON = await authApi.post<PublicKeyCredentialRequestOptionsJSON>('/auth/passkey/options', {});
  const response = await startAuthentication({ optionsJSON });
  return step('/auth/passkey/sign-in', { response });
}

/** Has the person who is signed in prove once more that it is them; a second factor may then be owed. */
export function proveOneself(password: string): Promise<SignInAnswer> {
  return step('/auth/re-authenticate', { password });
}

export async function signOut(): Promise<void> {
  await authApi.post('/auth/sign-out', {});
  keepCsrf(null);
}

/** Has a reset link mailed, when somebody has this address; the answer is the same when nobody has. */
export function askReset(email: string): Promise<{ message: string }> {
  return authApi.post('/auth/reset', { email });
}

export function resetPassword(token: string, password: string): Promise<void> {
  return authApi.post('/auth/reset/confirm', { token, password });
}

/** Moves the person who is signed in to the address that the link was mailed to. */
export function confirmAddress(token: string): Promise<{ email: string }> {
  return authApi.post('/auth/address/confirm', { token });
}

export interface SetUpInput {
  token: string;
  brokerage_name: string;
  name: string;
  email: string;
  password: string;
}

/** Creates the first brokerage and its admin, and signs them in. */
export function setUp(input: SetUpInput): Promise<SignInAnswer> {
  return step('/auth/set-up', input);
}

/** Takes up an invitation by choosing a name and a password, and signs in; the deal that it was for, if any. */
export async function acceptInvitation(input: {
  token: string;
  name: string;
  password: string;
}): Promise<{ deal_id: Id | null }> {
  const answer = await authApi.post<{ csrf_token: string; deal_id: Id | null }>('/auth/invitation/accept', input);
  keepCsrf(answer.csrf_token);
  return answer;
}

/** Takes up an invitation as the person who is signed in; the deal that it was for, if any. */
export function joinByInvitation(token: string): Promise<{ deal_id: Id | null }> {
  return authApi.post('/auth/invitation/join', { token });
}
