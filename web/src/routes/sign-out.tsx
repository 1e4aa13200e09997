import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi, Navigate } from '@tanstack/react-router';
import { sessionQuery, signOut, type Session } from '../api/auth.ts';
import { forgetPerson } from '../api/live.ts';
import { Button } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Notice } from '../components/notice.tsx';
import { Skeleton } from '../components/states.tsx';
import { useArrival } from '../lib/use-arrival.ts';
import { useTitle } from '../lib/use-title.ts';
import { paths } from '../paths.ts';
import { SignedOutTitle } from '../shell/signed-out-title.tsx';

const route = getRouteApi('/entrance/sign-out');

function Leaving({ user }: Pick<Session, 'user'>) {
  const { return_to } = route.useSearch();
  const stay = useArrival(return_to);
  const goToSignIn = useArrival(
    `${paths.signIn}${return_to === undefined ? '' : `?${new URLSearchParams({ return_to })}`}`,
  );
  const leave = useMutation({
    mutationFn: () => signOut(user.id),
    onSuccess: () => {
      forgetPerson();
      return goToSignIn();
    },
  });
  return (
    <>
      <SignedOutTitle title="Sign out?">You are signed in as {user.email}.</SignedOutTitle>
      <Card>
        <div className="flex flex-col gap-2.5">
          {leave.error && <Notice tone="bad">{leave.error.message}</Notice>}
          <Button kind="primary" pending={leave.isPending} onClick={() => leave.mutate()}>
            Sign out
          </Button>
          <Button onClick={() => void stay()}>Stay signed in</Button>
        </div>
      </Card>
    </>
  );
}

/** The page that signs a person out before something else, such as approving a client as another person. */
export default function SignOutPage() {
  useTitle('Sign out');
  const search = route.useSearch();
  const session = useQuery(sessionQuery);
  if (session.data) return <Leaving user={session.data.user} />;
  return session.isPending ? (
    <Skeleton className="h-48 w-full rounded-xl" />
  ) : (
    <Navigate to="/sign-in" search={search} />
  );
}
