import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Navigate } from '@tanstack/react-router';
import { sessionQuery } from '../api/auth.ts';
import { Button } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { FormFields } from '../components/form-fields.tsx';
import { OrDivider } from '../components/or-divider.tsx';
import { PasskeyButton } from '../components/passkey-button.tsx';
import { useIdentityCheck } from '../components/identity-check.tsx';
import { Skeleton } from '../components/states.tsx';
import { useArrival } from '../lib/use-arrival.ts';
import { useTitle } from '../lib/use-title.ts';
import { SignedOutTitle } from '../shell/signed-out-title.tsx';

const route = getRouteApi('/entrance/re-authenticate');

function Proof({ email }: { email: string }) {
  const search = route.useSearch();
  const arrive = useArrival(search.return_to);
  const { form, field } = useIdentityCheck(arrive);
  return (
    <>
      <SignedOutTitle title="Confirm it is you">
        This protects your account or your brokerage, so we ask {email} once more.
      </SignedOutTitle>
      <Card>
        <FormFields form={form}>
          <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
          {field}
          <Button type="submit" kind="primary" pending={form.pending} className="w-full">
            Continue
          </Button>
        </FormFields>
        <OrDivider />
        <PasskeyButton onDone={arrive} />
      </Card>
      <p className="mt-5 text-center">
        <Link to="/sign-out" search={search} className="rounded-sm text-accent-ink underline-offset-3 hover:underline">
          I am someone else
        </Link>
      </p>
    </>
  );
}

/**
 * The page for actions that require a recent sign-in, such as letting a client write: the person confirms their
 * identity and continues.
 */
export default function ReauthenticatePage() {
  useTitle('Confirm it is you');
  const search = route.useSearch();
  const session = useQuery(sessionQuery);
  if (session.data) return <Proof email={session.data.user.email} />;
  return session.isPending ? (
    <Skeleton className="h-72 w-full rounded-xl" />
  ) : (
    <Navigate to="/sign-in" search={search} />
  );
}
