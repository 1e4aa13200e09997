import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { sessionQuery } from '../api/auth.ts';
import { ApiError } from '../api/client.ts';
import { useMe } from '../api/me.ts';
import { loadAsTheirs } from '../lib/unsaved.ts';
import { FormDialog } from './form-dialog.tsx';
import { OrDivider } from './or-divider.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { useIdentityCheck } from './identity-check.tsx';

/** Runs `action`; when that needs a recent sign-in, has the person prove that it is them, and does it again. */
type WithRecentSignIn = <T>(action: () => Promise<T>) => Promise<T>;

const RecentSignInContext = createContext<WithRecentSignIn | null>(null);

interface ProofProps {
  onProven: () => void;
  onCancel: () => void;
}

function ProofDialog({ onProven, onCancel }: ProofProps) {
  const { user } = useMe();
  const client = useQueryClient();
  const { form, field } = useIdentityCheck(onProven);
  // A passkey says itself whose it is: another person has the page loaded as theirs.
  const arrive = async () => {
    const session = await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
    return session.user.id === user.id ? onProven() : loadAsTheirs();
  };
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onCancel}
      title="Confirm it is you"
      description="This protects your account or your brokerage, so we ask once more."
      action="Continue"
    >
      {field}
      <div>
        <OrDivider />
        <PasskeyButton onDone={arrive} />
      </div>
    </FormDialog>
  );
}

/** Gives everything below it {@link useRecentSignIn}. */
export function RecentSignInProvider({ children }: { children: ReactNode }) {
  const [asking, setAsking] = useState(false);
  const waiting = useRef<PromiseWithResolvers<boolean> | null>(null);
  const settle = (proven: boolean) => {
    setAsking(false);
    waiting.current?.resolve(proven);
    waiting.current = null;
  };
  const withRecentSignIn = useCallback<WithRecentSignIn>(async (action) => {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'recent_sign_in_required') throw error;
      waiting.current ??= Promise.withResolvers<boolean>();
      setAsking(true);
      if (!(await waiting.current.promise)) throw error;
      return action();
    }
  }, []);
  return (
    <RecentSignInContext value={withRecentSignIn}>
      {children}
      {asking && <ProofDialog onProven={() => settle(true)} onCancel={() => settle(false)} />}
    </RecentSignInContext>
  );
}

/** `withRecentSignIn(() => api.post(…))`: for changes to credentials, keys, second factors and sessions, for admins and shared clients. */
export function useRecentSignIn(): WithRecentSignIn {
  const withRecentSignIn = useContext(RecentSignInContext);
  if (!withRecentSignIn) throw new Error('useRecentSignIn needs a RecentSignInProvider above it');
  return withRecentSignIn;
}
