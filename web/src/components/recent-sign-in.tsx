import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { sessionQuery } from '../api/auth.ts';
import { ApiError } from '../api/client.ts';
import { meQuery, useMe } from '../api/me.ts';
import { refreshAll } from '../api/query-client.ts';
import { CancelButton, Dialog } from './dialog.tsx';
import { FormDialog } from './form-dialog.tsx';
import { OrDivider } from './or-divider.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { useIdentityCheck } from './identity-check.tsx';

/**
 * Runs `action`; when it is refused without a recent sign-in, or one with the second factor, has the user prove their
 * identity and runs it again.
 */
type WithRecentSignIn = <T>(action: () => Promise<T>) => Promise<T>;

const RecentSignInContext = createContext<WithRecentSignIn | null>(null);

/** The proof that a refusal requires: a recent sign-in, or one with the second factor. */
type Proof = 'recent_sign_in_required' | 'second_factor_required';

interface ProofProps {
  onProven: () => void;
  onCancel: () => void;
}

/**
 * Returns the function to call after a sign-in over the page: it continues with the new session, unless that belongs to
 * another person, as can happen with a passkey.
 */
export function useArrival(onProven: () => void) {
  const client = useQueryClient();
  return async () => {
    await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
    onProven();
  };
}

interface ProofDialogProps extends ProofProps {
  title: string;
  description: string;
}

function ProofDialog({ onProven, onCancel, title, description }: ProofDialogProps) {
  const arrive = useArrival(onProven);
  const { form, field } = useIdentityCheck(arrive);
  return (
    <FormDialog form={form} size="sm" onClose={onCancel} title={title} description={description} action="Continue">
      {field}
      <div>
        <OrDivider />
        <PasskeyButton onDone={arrive} />
      </div>
    </FormDialog>
  );
}

/** Asks for the passkey of a user without an authenticator, as the password would not suffice. */
function PasskeyDialog({ onProven, onCancel, title }: ProofProps & { title: string }) {
  const arrive = useArrival(onProven);
  return (
    <Dialog
      size="sm"
      onClose={onCancel}
      title={title}
      description="A brokerage you belong to requires a second factor, and you signed in without one. Use your passkey to continue."
      footer={<CancelButton />}
    >
      <PasskeyButton onDone={arrive} />
    </Dialog>
  );
}

function ProofOf({ proof, ...rest }: ProofProps & { proof: Proof }) {
  const { totp } = useMe().second_factor;
  if (proof === 'recent_sign_in_required')
    return (
      <ProofDialog
        {...rest}
        title="Confirm it is you"
        description="This protects your account or your brokerage, so we ask once more."
      />
    );
  const title = 'Use your second factor';
  if (!totp) return <PasskeyDialog {...rest} title={title} />;
  return (
    <ProofDialog
      {...rest}
      title={title}
      description="A brokerage you belong to requires a second factor, and you signed in without one. Use your password and a code from your authenticator, or a passkey."
    />
  );
}

/** Provides {@link useRecentSignIn} to its children. */
export function RecentSignInProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState<Proof | null>(null);
  const waiting = useRef<PromiseWithResolvers<boolean> | null>(null);
  const settle = (proven: boolean) => {
    // A brokerage may have withheld its data until the second factor was given, so everything is fetched again.
    if (proven && asking === 'second_factor_required') void refreshAll(client);
    setAsking(null);
    waiting.current?.resolve(proven);
    waiting.current = null;
  };
  const withRecentSignIn = useCallback<WithRecentSignIn>(
    async (action) => {
      const proofAskedBy = (error: ApiError): Proof | null => {
        if (error.code === 'recent_sign_in_required') return error.code;
        const factor = client.getQueryData(meQuery.queryKey)?.second_factor;
        // A user without a second factor sets one up instead, as the error says.
        if (error.code !== 'second_factor_required' || !(factor?.totp || factor?.passkeys)) return null;
        return error.code;
      };
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const proof = proofAskedBy(error);
        if (proof === null) throw error;
        waiting.current ??= Promise.withResolvers<boolean>();
        setAsking(proof);
        if (!(await waiting.current.promise)) {
          error.calledOff = true;
          throw error;
        }
        return action();
      }
    },
    [client],
  );
  return (
    <RecentSignInContext value={withRecentSignIn}>
      {children}
      {asking !== null && <ProofOf proof={asking} onProven={() => settle(true)} onCancel={() => settle(false)} />}
    </RecentSignInContext>
  );
}

/**
 * Returns `withRecentSignIn(() => api.post(…))`, for changes to credentials, keys, second factors, sessions, admins and
 * shared clients.
 */
export function useRecentSignIn(): WithRecentSignIn {
  const withRecentSignIn = useContext(RecentSignInContext);
  if (!withRecentSignIn) throw new Error('useRecentSignIn needs a RecentSignInProvider above it');
  return withRecentSignIn;
}
