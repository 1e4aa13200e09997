import { FormDialog } from './form-dialog.tsx';
import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';
import { finishSignIn, proveOneself } from '../api/auth.ts';
import { ApiError } from '../api/client.ts';
import { required, useForm } from '../lib/use-form.ts';
import { CodeField } from './code-field.tsx';
import { Field } from './field.tsx';
import { PasswordInput } from './input.tsx';

/** Does `deed`; when that needs a recent sign-in, has the person prove that it is them, and does it again. */
type WithRecentSignIn = <T>(deed: () => Promise<T>) => Promise<T>;

const RecentSignInContext = createContext<WithRecentSignIn | null>(null);

interface ProofProps {
  onProven: () => void;
  onCancel: () => void;
}

function ProofDialog({ onProven, onCancel }: ProofProps) {
  const [owed, setOwed] = useState<'password' | 'code'>('password');
  const form = useForm({
    initial: { password: '', code: '' },
    draft: null,
    check: (values) =>
      required(values, owed === 'password' ? { password: 'Enter your password.' } : { code: 'Enter the code.' }),
    about: { sign_in_refused: 'password', code_refused: 'code' },
    submit: ({ password, code }) => (owed === 'password' ? proveOneself(password) : finishSignIn(code.trim())),
    onDone: ({ outcome }) => (outcome === 'signed_in' ? onProven() : setOwed('code')),
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onCancel}
      title="Confirm it is you"
      description="This protects your account or your brokerage, so we ask once more."
      action="Continue"
    >
      {owed === 'password' ? (
        <Field label="Password" error={form.errors.password}>
          <PasswordInput {...form.text('password')} autoComplete="current-password" />
        </Field>
      ) : (
        <CodeField {...form.text('code')} error={form.errors.code} />
      )}
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
  const withRecentSignIn = useCallback<WithRecentSignIn>(async (deed) => {
    try {
      return await deed();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'recent_sign_in_required') throw error;
      waiting.current ??= Promise.withResolvers<boolean>();
      setAsking(true);
      if (!(await waiting.current.promise)) throw error;
      return deed();
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
