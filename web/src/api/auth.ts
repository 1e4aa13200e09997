/**
 * Signing in and out, and requests without a session. After a sign-in, the application asks who is signed in and keeps
 * the new session's CSRF token: with {@link sessionQuery} when the current page stays, otherwise when the person's
 * first page is loaded.
 */
import { queryOptions, type QueryClient } from '@tanstack/react-query';
import type { Answer, RequestBody } from '../../../server/contract.ts';
import { fetchPart } from '../lib/parts.ts';
import { loadAsTheirs } from '../lib/unsaved.ts';
import { api, ApiError, isSessionOver, keepCsrf } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Me } from './shapes.ts';

/** The state of a sign-in: done, or waiting for the second factor. */
export type SignInAnswer = Answer<'post', '/auth/sign-in'>;

export type Session = Answer<'get', '/auth/session'>;

export type Invitation = Answer<'post', '/auth/invitation'>;

export const signInWaysQuery = queryOptions({
  queryKey: ['sign-in-ways'],
  queryFn: ({ signal }) => api.get('/auth/ways', { signal }),
  staleTime: 60_000,
});

/**
 * Continues as the person who is signed in, with the CSRF token of their session. If the page was loaded for another
 * person, it is reloaded: with the new token it would send the former person's input as the new person's.
 */
export function goOnAs(client: QueryClient, userId: Id, token: string): Promise<void> {
  const shown = client.getQueryData<Me>(keys.me);
  if (shown && shown.user.id !== userId) return loadAsTheirs();
  keepCsrf(token);
  return Promise.resolve();
}

/** The person who is signed in, for pages where this is not known; fails with 401 when nobody is. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ client, signal }) => {
    const session = await api.get('/auth/session', { signal });
    await goOnAs(client, session.user.id, session.csrf_token);
    return session;
  },
  retry: false,
  gcTime: 0,
});

/** The invitation behind a link. */
export const invitationQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation', token],
    queryFn: ({ signal }) => api.post('/auth/invitation', { json: { token }, signal }),
    retry: false,
    // The form that is being filled in depends on it.
    refetchOnWindowFocus: false,
    // It depends on who is signed in, which changes on other pages.
    gcTime: 0,
  });

/** The email address that the link would give to the person who is signed in. */
export const addressLinkQuery = (token: string) =>
  queryOptions({
    queryKey: ['address-link', token],
    queryFn: ({ signal }) => api.post('/auth/address/link', { json: { token }, signal }),
    retry: false,
    // Once it has been used, the link is rejected.
    refetchOnWindowFocus: false,
  });

/** Signs in by password; the response says whether a second factor is needed. */
export const signIn = (email: string, password: string): Promise<SignInAnswer> =>
  api.post('/auth/sign-in', { json: { email, password } });

/**
 * Finishes a sign-in with a code of the authenticator, or with a recovery code. When the code was too late or too many
 * were wrong, the sign-in starts again with the password; `onOver` is then called before the promise rejects.
 */
export async function finishSignIn(code: string, onOver: (error: ApiError) => void): Promise<SignInAnswer> {
  try {
    return await api.post('/auth/second-factor', { json: { code: code.trim() } });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'sign_in_expired') onOver(error);
    throw error;
  }
}

/** Signs in with a passkey of the browser or the person's device. */
export async function signInWithPasskey(): Promise<SignInAnswer> {
  const { startAuthentication } = await fetchPart(() => import('@simplewebauthn/browser'));
  const optionsJSON = await api.post('/auth/passkey/options');
  const response = await startAuthentication({ optionsJSON });
  return api.post('/auth/passkey/sign-in', { json: { response } });
}

/** Has the person who is signed in prove their identity again; a second factor may then be needed. */
export const proveOneself = (password: string): Promise<SignInAnswer> =>
  api.post('/auth/re-authenticate', { json: { password } });

function nullWhereOver(error: unknown): null {
  if (error instanceof ApiError && isSessionOver(error)) return null;
  throw error;
}

/**
 * Ends the person's session. If another tab has ended it already and another session has begun since, that session is
 * ended too when it is this person's, and left alone otherwise.
 */
export async function signOut(userId: Id): Promise<void> {
  const answer = await api.post('/auth/sign-out').catch(nullWhereOver);
  if (answer === null) {
    const session = await api.get('/auth/session').catch(nullWhereOver);
    if (session?.user.id === userId) {
      keepCsrf(session.csrf_token);
      await api.post('/auth/sign-out');
    }
  }
  keepCsrf(null);
}

/** Mails a reset link if somebody has this address; the response is the same when nobody has. */
export const askReset = (email: string) => api.post('/auth/reset', { json: { email } });

/** Sets a new password with the token of a mailed link. */
export const resetPassword = (token: string, password: string) =>
  api.post('/auth/reset/confirm', { json: { token, password } });

/** Changes the email address of the person who is signed in to the one that the link was mailed to. */
export const confirmAddress = (token: string) => api.post('/auth/address/confirm', { json: { token } });

/** Creates the first brokerage and its admin, and signs them in. */
export const setUp = (input: RequestBody<'post', '/auth/set-up'>): Promise<SignInAnswer> =>
  api.post('/auth/set-up', { json: input });

/** Accepts an invitation with a name and a password, and signs in; returns the deal of the invitation, if any. */
export const acceptInvitation = (input: RequestBody<'post', '/auth/invitation/accept'>) =>
  api.post('/auth/invitation/accept', { json: input });

/** Accepts an invitation as the person who is signed in; returns the deal of the invitation, if any. */
export const joinByInvitation = (token: string) => api.post('/auth/invitation/join', { json: { token } });
