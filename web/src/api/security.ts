/** The person's own account: name, email address, password, second factors and sessions. */
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { Answer } from '../../../server/contract.ts';
import { fetchPart } from '../lib/parts.ts';
import { api, keepCsrf, postForText } from './client.ts';
import { refreshAll } from './query-client.ts';
import { keys } from './query-keys.ts';
import type { Id } from './shapes.ts';

export type OwnSession = Answer<'get', '/auth/sessions'>['sessions'][number];
export type OwnPasskey = Answer<'get', '/auth/passkeys'>['passkeys'][number];

export const sessionsQuery = queryOptions({
  queryKey: keys.settings('sessions'),
  queryFn: ({ signal }) => api.get('/auth/sessions', { signal }),
});

export const passkeysQuery = queryOptions({
  queryKey: keys.settings('passkeys'),
  queryFn: ({ signal }) => api.get('/auth/passkeys', { signal }),
});

/** An authenticator that still needs its first code: the key to type, and the URI in the QR code. */
export type PendingFactor = Answer<'post', '/auth/second-factor/begin'>;

/** Creates a passkey in the browser and registers it. Rejects with the browser's own error when the person declines. */
async function addPasskey(name: string) {
  const optionsJSON = await api.post('/auth/passkey/registration');
  const { startRegistration } = await fetchPart(() => import('@simplewebauthn/browser'));
  const response = await startRegistration({ optionsJSON });
  return api.post('/auth/passkey/add', {
    json: { response, name },
  });
}

/** Mutations of one's own account. Some of them start a new session with a new CSRF token. */
export function useSecurityActions() {
  const client = useQueryClient();
  const again = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: keys.me }),
      client.invalidateQueries({ queryKey: keys.settings('passkeys') }),
      client.invalidateQueries({ queryKey: keys.settings('sessions') }),
    ]);
  // A brokerage may have required the second factor: anything may be visible now.
  const withFactor = ({ csrf_token }: { csrf_token?: string }) => {
    // A node of the previous release returns no token after adding a passkey.
    if (csrf_token !== undefined) keepCsrf(csrf_token);
    return refreshAll(client);
  };
  const renewed = ({ csrf_token }: { csrf_token: string }) => {
    keepCsrf(csrf_token);
    return again();
  };
  return {
    rename: useMutation({
      mutationFn: (name: string) => api.patch('/web/me', { json: { name } }),
      onSuccess: () => refreshAll(client),
    }),
    askAddress: useMutation({
      mutationFn: (email: string) => api.post('/auth/address', { json: { email } }),
    }),
    exportOwnData: useMutation({ mutationFn: () => postForText('/auth/export', { json: {} }) }),
    erase: useMutation({
      mutationFn: (confirmation: string) => api.post('/auth/erase', { json: { confirmation } }),
    }),
    changePassword: useMutation({
      mutationFn: (input: { current_password: string; password: string }) =>
        api.post('/auth/password', { json: input }),
      onSuccess: renewed,
    }),
    beginFactor: useMutation({
      mutationFn: () => api.post('/auth/second-factor/begin'),
    }),
    confirmFactor: useMutation({
      mutationFn: (code: string) => api.post('/auth/second-factor/confirm', { json: { code } }),
      onSuccess: withFactor,
    }),
    removeFactor: useMutation({
      mutationFn: () => api.post('/auth/second-factor/remove'),
      onSuccess: again,
    }),
    renewCodes: useMutation({
      mutationFn: () => api.post('/auth/recovery-codes'),
      onSuccess: again,
    }),
    addPasskey: useMutation({ mutationFn: addPasskey, onSuccess: withFactor }),
    renamePasskey: useMutation({
      mutationFn: (input: { id: Id; name: string }) => api.post('/auth/passkey/rename', { json: input }),
      onSuccess: again,
    }),
    removePasskey: useMutation({
      mutationFn: (id: Id) => api.post('/auth/passkey/remove', { json: { id } }),
      onSuccess: again,
    }),
    endSession: useMutation({
      mutationFn: (id: Id | 'others') => api.post('/auth/sessions/end', { json: { id } }),
      onSuccess: again,
    }),
    leaveEverywhere: useMutation({ mutationFn: () => api.post('/auth/sign-out-everywhere') }),
  };
}
