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

/** Runs `action`; when that needs a recent sign-in, or one with the second factor, has the person prove that it is them, and does it again. */
type WithRecentSignIn = <T>(action: () => Promise<T>) => Promise<T>;

const RecentSignInContext = createContext<WithRecentSignIn | null>(null);

/** What a refusal of the server asks for: that the person shows once more who they are, or that they do so with their second factor. */
type Proof = 'recent_sign_in_required' | 'second_factor_required';

interface ProofProps {
  onProven: () => void;
  onCancel: () => void;
}

/** What follows a sign-in over the page: it goes on with the new session, unless that is another person's, as a passkey's may be. */
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

/** Asks for the passkey of a person who has no authenticator: the password would not be enough. */
function PasskeyDialog({ onProven, onCancel, title }: ProofProps & { title: string }) {
  const arrive = useArrival(onProven);
  return (
    <Dialog
      size="sm"
      onClose={onCancel}
      title={title}
      description="A brokerage of yours asks its members for a second factor, and you signed in without it. Use your passkey to go on."
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
  const title = 'Show your second factor';
  if (!totp) return <PasskeyDialog {...rest} title={title} />;
  return (
    <ProofDialog
      {...rest}
      title={title}
      description="A brokerage of yours asks its members for a second factor, and you signed in without it. Use your password and the code of your authenticator, or a passkey."
    />
  );
}

/** Gives everything below it {@link useRecentSignIn}. */
export function RecentSignInProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState<Proof | null>(null);
  const waiting = useRef<PromiseWithResolvers<boolean> | null>(null);
  const settle = (proven: boolean) => {
    // A brokerage may have waited for the second factor: everything can be different now.
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
        // Whoever has none sets one up instead, as the refusal says.
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

/** `withRecentSignIn(() => api.post(…))`: for changes to credentials, keys, second factors and sessions, for admins and shared clients. */
export function useRecentSignIn(): WithRecentSignIn {
  const withRecentSignIn = useContext(RecentSignInContext);
  if (!withRecentSignIn) throw new Error('useRecentSignIn needs a RecentSignInProvider above it');
  return withRecentSignIn;
}
