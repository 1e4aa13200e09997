/** The person's own account: name, address, password, second factors and sessions. */
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, authApi, keepCsrf } from './client.ts';
import { keys } from './keys.ts';
import type { Id, Instant } from './shapes.ts';

export interface OwnSession {
  id: Id;
  is_this: boolean;
  created_at: Instant;
  last_seen_at: Instant;
  address: string | null;
  user_agent: string | null;
}

export interface OwnPasskey {
  id: Id;
  name: string;
  created_at: Instant;
  last_used_at: Instant | null;
}

export const sessionsQuery = queryOptions({
  queryKey: keys.settings('sessions'),
  queryFn: ({ signal }) => authApi.get<{ sessions: OwnSession[] }>('/auth/sessions', { signal }),
});

export const passkeysQuery = queryOptions({
  queryKey: keys.settings('passkeys'),
  queryFn: ({ signal }) => authApi.get<{ passkeys: OwnPasskey[] }>('/auth/passkeys', { signal }),
});

/** An authenticator that waits for its first code: the key to type, and the address that the QR code holds. */
export interface PendingFactor {
  secret: string;
  uri: string;
}

interface NewToken {
  csrf_token: string;
}

/** Has the browser make a passkey, and keeps it. Rejects with the browser's own error when the person turns it down. */
async function addPasskey(name: string): Promise<void> {
  const optionsJSON = await authApi.post<PublicKeyCredentialCreationOptionsJSON>('/auth/passkey/registration', {});
  const { startRegistration } = await import('@simplewebauthn/browser');
  const response = await startRegistration({ optionsJSON });
  await authApi.post('/auth/passkey/add', { response, name });
}

/** What is done about one's account. The session, and its CSRF token, are new after some of it. */
export function useSecurityActions() {
  const client = useQueryClient();
  const again = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: keys.me }),
      client.invalidateQueries({ queryKey: keys.settings('passkeys') }),
      client.invalidateQueries({ queryKey: keys.settings('sessions') }),
    ]);
  const renewed = ({ csrf_token }: NewToken) => {
    keepCsrf(csrf_token);
    return again();
  };
  return {
    rename: useMutation({
      mutationFn: (name: string) => api.patch('/web/me', { json: { name } }),
      onSuccess: () => client.invalidateQueries(),
    }),
    askAddress: useMutation({
      mutationFn: (email: string) => authApi.post<{ message: string }>('/auth/address', { email }),
    }),
    changePassword: useMutation({
      mutationFn: (input: { current_password: string; password: string }) =>
        authApi.post<NewToken>('/auth/password', input),
      onSuccess: renewed,
    }),
    beginFactor: useMutation({
      mutationFn: () => authApi.post<PendingFactor>('/auth/second-factor/begin', {}),
    }),
    confirmFactor: useMutation({
      mutationFn: (code: string) =>
        authApi.post<NewToken & { recovery_codes: string[] }>('/auth/second-factor/confirm', { code }),
      // A brokerage may have waited for it: everything can be different now.
      onSuccess: ({ csrf_token }) => {
        keepCsrf(csrf_token);
        return client.invalidateQueries();
      },
    }),
    removeFactor: useMutation({
      mutationFn: () => authApi.post('/auth/second-factor/remove', {}),
      onSuccess: again,
    }),
    renewCodes: useMutation({
      mutationFn: () => authApi.post<{ recovery_codes: string[] }>('/auth/recovery-codes', {}),
      onSuccess: again,
    }),
    addPasskey: useMutation({ mutationFn: addPasskey, onSuccess: () => client.invalidateQueries() }),
    renamePasskey: useMutation({
      mutationFn: (input: { id: Id; name: string }) => authApi.post('/auth/passkey/rename', input),
      onSuccess: again,
    }),
    removePasskey: useMutation({
      mutationFn: (id: Id) => authApi.post('/auth/passkey/remove', { id }),
      onSuccess: again,
    }),
    endSession: useMutation({
      mutationFn: (id: Id | 'others') => authApi.post('/auth/sessions/end', { id }),
      onSuccess: again,
    }),
    leaveEverywhere: useMutation({ mutationFn: () => authApi.post('/auth/sign-out-everywhere', {}) }),
  };
}
