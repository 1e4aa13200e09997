/**
 * Signing in and out, and what comes before there is a session. Whoever has signed in is asked for next, which keeps the CSRF token of
 * the new session: by {@link sessionQuery} over a page that stays, else by the first page of theirs.
 */
import { queryOptions, type QueryClient } from '@tanstack/react-query';
import type { Answer, RequestBody } from '../../../server/contract.ts';
import { loadAsTheirs } from '../lib/unsaved.ts';
import { api, ApiError, isSessionOver, keepCsrf } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Me } from './shapes.ts';

/** Where a sign-in stands: done, or waiting for the second factor. */
export type SignInAnswer = Answer<'post', '/auth/sign-in'>;

export type Session = Answer<'get', '/auth/session'>;

export type Invitation = Answer<'post', '/auth/invitation'>;

export const signInWaysQuery = queryOptions({
  queryKey: ['sign-in-ways'],
  queryFn: ({ signal }) => api.get('/auth/ways', { signal }),
  staleTime: 60_000,
});

/**
 * Goes on as who is signed in, with the CSRF token of their session. A page of another person is loaded as theirs: with their token it would
 * send what the former person wrote as theirs.
 */
export function goOnAs(client: QueryClient, userId: Id, token: string): Promise<void> {
  const shown = client.getQueryData<Me>(keys.me);
  if (shown && shown.user.id !== userId) return loadAsTheirs();
  keepCsrf(token);
  return Promise.resolve();
}

/** Who is signed in, asked where that is not sure; fails with 401 for nobody. */
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
    // What is written in the form goes by it.
    refetchOnWindowFocus: false,
  });

/** The address to which the link would move the person who is signed in. */
export const addressLinkQuery = (token: string) =>
  queryOptions({
    queryKey: ['address-link', token],
    queryFn: ({ signal }) => api.post('/auth/address/link', { json: { token }, signal }),
    retry: false,
    // After it was used it is refused.
    refetchOnWindowFocus: false,
  });

/** Signs in by password; the answer says whether a second step follows. */
export const signIn = (email: string, password: string): Promise<SignInAnswer> =>
  api.post('/auth/sign-in', { json: { email, password } });

/**
 * Finishes a sign-in with a code of the authenticator, or with a recovery code. Where it begins again with the password, since the code came too late or too
 * many were wrong, `onOver` is called before it rejects.
 */
export async function finishSignIn(code: string, onOver: (error: ApiError) => void): Promise<SignInAnswer> {
  try {
    return await api.post('/auth/second-factor', { json: { code: code.trim() } });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'sign_in_expired') onOver(error);
    throw error;
  }
}

/** Signs in with a passkey that the browser or the person's device holds. */
export async function signInWithPasskey(): Promise<SignInAnswer> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const optionsJSON = await api.post('/auth/passkey/options');
  const response = await startAuthentication({ optionsJSON });
  return api.post('/auth/passkey/sign-in', { json: { response } });
}

/** Has the person who is signed in prove once more that it is them; a second factor may then be owed. */
export const proveOneself = (password: string): Promise<SignInAnswer> =>
  api.post('/auth/re-authenticate', { json: { password } });

function nullWhereOver(error: unknown): null {
  if (error instanceof ApiError && isSessionOver(error)) return null;
  throw error;
}

/**
 * Ends the session of the person. Another tab may have ended it already, and begun another since: that one is ended if it is
 * theirs, and left alone if it is somebody else's.
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

/** Has a reset link mailed, when a person has this address; the answer is the same when nobody has. */
export const askReset = (email: string) => api.post('/auth/reset', { json: { email } });

/** Sets a new password with the token of a mailed link. */
export const resetPassword = (token: string, password: string) =>
  api.post('/auth/reset/confirm', { json: { token, password } });

/** Moves the person who is signed in to the address that the link was mailed to. */
export const confirmAddress = (token: string) => api.post('/auth/address/confirm', { json: { token } });

/** Creates the first brokerage and its admin, and signs them in. */
export const setUp = (input: RequestBody<'post', '/auth/set-up'>): Promise<SignInAnswer> =>
  api.post('/auth/set-up', { json: input });

/** Takes up an invitation by choosing a name and a password, and signs in; the deal that it was for, if any. */
export const acceptInvitation = (input: RequestBody<'post', '/auth/invitation/accept'>) =>
  api.post('/auth/invitation/accept', { json: input });

/** Takes up an invitation as the person who is signed in; the deal that it was for, if any. */
export const joinByInvitation = (token: string) => api.post('/auth/invitation/join', { json: { token } });
