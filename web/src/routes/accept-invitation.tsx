import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { MailX, Unlink } from 'lucide-react';
import { useState } from 'react';
import { acceptInvitation, invitationQuery, joinByInvitation, sessionQuery, type Invitation } from '../api/auth.ts';
import { ApiError } from '../api/client.ts';
import { homeQuery } from '../api/home.ts';
import type { Id, WaitingPlace } from '../api/shapes.ts';
import { Button, ButtonLink } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Field } from '../components/field.tsx';
import { FormFields } from '../components/form-fields.tsx';
import { Input } from '../components/input.tsx';
import { NewPassword } from '../components/new-password.tsx';
import { Notice } from '../components/notice.tsx';
import { plural } from '../lib/format.ts';
import { lengths } from '../lib/lengths.ts';
import { linkToken } from '../lib/link-token.ts';
import { useTitle } from '../lib/use-title.ts';
import { EmptyState, Loaded, Skeleton } from '../components/states.tsx';
import { SignedOutTitle } from '../shell/signed-out-title.tsx';
import { roleInWords } from '../lib/states.ts';
import { required, useForm } from '../lib/use-form.ts';
import { useJoinedDeal } from '../lib/use-joined-deal.ts';
import { paths } from '../paths.ts';

/** Navigates to the invitation's deal, or to the brokerage's list of deals. */
function useWelcome() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const goTo = useJoinedDeal(true);
  return async ({ deal_id: dealId }: { deal_id: Id | null }) => {
    client.clear();
    return dealId === null ? navigate({ to: '/deals', replace: true }) : goTo(dealId);
  };
}

/** Whether an error says that the link was used or withdrawn, or has expired. */
const isOver = (error: unknown): boolean => error instanceof ApiError && error.code === 'link_expired';

/** Where somebody goes whose invitation no longer works. */
function Onward({ waits }: { waits: boolean }) {
  const session = useQuery(sessionQuery);
  if (session.isPending) return null;
  if (!session.data) {
    return (
      <ButtonLink to="/sign-in" kind="primary">
        Sign in
      </ButtonLink>
    );
  }
  return waits ? (
    <ButtonLink to="/" kind="primary">
      Go to your home page
    </ButtonLink>
  ) : (
    <ButtonLink to="/deals" kind="primary">
      Go to your deals
    </ButtonLink>
  );
}

interface FormProps {
  token: string;
  invitation: Invitation;
  /** Called when the link turns out to be used or withdrawn, or to have expired, since the page was opened. */
  onOver: () => void;
}

function AcceptForm({ token, invitation, onOver }: FormProps) {
  const welcome = useWelcome();
  const form = useForm({
    initial: { name: invitation.name, password: '' },
    draft: null,
    check: (values) => required(values, { name: 'Enter your name.', password: 'Choose a password.' }),
    about: { password_refused: 'password' },
    submit: (values) =>
      acceptInvitation({ token, ...values }).catch((error: unknown) => {
        if (isOver(error)) onOver();
        throw error;
      }),
    onDone: welcome,
  });
  return (
    <FormFields form={form}>
      <Field label="E-mail">
        <Input value={invitation.email} readOnly disabled autoComplete="username" />
      </Field>
      <Field label="Your name" error={form.errors.name}>
        <Input {...form.text('name')} autoComplete="name" maxLength={lengths.users.name} />
      </Field>
      <NewPassword {...form.text('password')} error={form.errors.password} label="Password" />
      <Button type="submit" kind="primary" pending={form.pending} className="mt-1">
        Accept and continue
      </Button>
    </FormFields>
  );
}

/** For a person with an account: joins when they are signed in with it; otherwise they sign in first and come back. */
function JoinForm({ token, invitation, onOver }: FormProps) {
  const session = useQuery(sessionQuery);
  const welcome = useWelcome();
  const join = useMutation({
    mutationFn: () => joinByInvitation(token),
    onSuccess: welcome,
    onError: (error) => isOver(error) && onOver(),
  });
  if (session.isPending) return <Skeleton className="h-9 w-full" />;
  const email = session.data?.user.email;
  if (email === undefined) {
    return (
      <div className="flex flex-col gap-4">
        {invitation.moved ? (
          <p className="text-soft">
            This invitation was sent to an account that has another address by now. Sign in with that account to accept,
            or ask for a new invitation.
          </p>
        ) : (
          <p className="text-soft">
            You already have an account for <strong className="font-medium text-ink">{invitation.email}</strong>. Sign
            in to accept.
          </p>
        )}
        <ButtonLink to="/sign-in" search={{ return_to: paths.acceptInvitation }} kind="primary">
          Sign in
        </ButtonLink>
      </div>
    );
  }
  // Whoever has changed their address since accepts with the account that was invited.
  const yours = invitation.yours ?? email === invitation.email;
  if (!yours) {
    const another = invitation.moved || email === invitation.email;
    return (
      <div className="flex flex-col gap-4">
        {another ? (
          <Notice tone="warn" title="This invitation was sent to another account">
            You are signed in as {email}. Sign out, and sign in with the account that was invited, or ask for a new
            invitation.
          </Notice>
        ) : (
          <Notice tone="warn" title={`This invitation is for ${invitation.email}`}>
            You are signed in as {email}. Sign out, and sign in as {invitation.email} to accept.
          </Notice>
        )}
        <ButtonLink to="/sign-out" search={{ return_to: paths.acceptInvitation }} kind="primary">
          Sign out
        </ButtonLink>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {join.error && <Notice tone="bad">{join.error.message}</Notice>}
      <p className="text-soft">You are signed in as {email}.</p>
      <Button kind="primary" pending={join.isPending} onClick={() => join.mutate()}>
        Accept
      </Button>
    </div>
  );
}

/** For a forwarded link: the page must not reveal whether the invited address has an account. */
function AnyForm(form: FormProps) {
  const { invitation } = form;
  const session = useQuery(sessionQuery);
  if (session.isPending) return <Skeleton className="h-64 w-full" />;
  if (invitation.yours || session.data?.user.email === invitation.email) return <JoinForm {...form} />;
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-col gap-3">
        <p className="text-soft">
          If you already have an account for <strong className="font-medium text-ink">{invitation.email}</strong>, sign
          in with it to accept.
        </p>
        <ButtonLink to={session.data ? '/sign-out' : '/sign-in'} search={{ return_to: paths.acceptInvitation }}>
          {session.data ? `Sign out ${session.data.user.email}` : 'Sign in'}
        </ButtonLink>
      </div>
      <div className="flex flex-col gap-3 border-t border-line pt-5">
        <p className="text-soft">If you do not have one yet, choose a name and a password.</p>
        <AcceptForm {...form} />
      </div>
    </div>
  );
}

/** A role of another release, unknown to this page, is shown by its name. */
const roles: Readonly<Record<string, string>> = roleInWords;

function InvitationCard({ token, invitation }: { token: string; invitation: Invitation }) {
  const { brokerage_name: brokerage, deal_title: deal, role } = invitation;
  const [over, setOver] = useState(false);
  const form = { token, invitation, onOver: () => setOver(true) };
  if (over) return <DeadLink />;
  return (
    <>
      <SignedOutTitle title={deal ?? `Join ${brokerage}`}>
        {deal === null ? 'You are invited' : `${brokerage} invites you to take part in this deal`} as{' '}
        {roles[role] ?? role}.
      </SignedOutTitle>
      <Card>
        {invitation.has_password === null ? (
          <AnyForm {...form} />
        ) : invitation.has_password ? (
          <JoinForm {...form} />
        ) : (
          <AcceptForm {...form} />
        )}
      </Card>
    </>
  );
}

/** The deals that the person has joined and does not see yet, in words: "Corner bakery and 1 other deal". */
const inWords = ([first, ...others]: readonly WaitingPlace[]): string =>
  `${first?.deal_title}${others.length === 0 ? '' : ` and ${plural(others.length, 'other deal')}`}`;

function DeadLink() {
  const session = useQuery(sessionQuery);
  const home = useQuery({ ...homeQuery, enabled: Boolean(session.data) });
  const places = home.data?.waiting_places ?? [];
  const waits = places.length > 0;
  return (
    <Card>
      <EmptyState level={1} icon={MailX} title="This invitation no longer works" action={<Onward waits={waits} />}>
        {waits
          ? `You have joined ${inWords(places)} as an advisor, and see ${places.length === 1 ? 'it once the person whom you advise has' : 'them once the people whom you advise have'} joined, too. Until then you can leave on your home page. `
          : 'If you accepted it before, you find the deal among yours when you are signed in; if you advise somebody, once that person has joined, too. '}
        If it was withdrawn or has expired, ask the person who invited you for a new link.
      </EmptyState>
    </Card>
  );
}

function IncompleteLink() {
  return (
    <Card>
      <EmptyState level={1} icon={Unlink} title="This link is incomplete">
        Open it again from the e-mail, or copy the whole link.
      </EmptyState>
    </Card>
  );
}

/** The page of an invitation's link: the person chooses a name and password, or signs in with an existing account. */
export default function AcceptInvitationPage() {
  useTitle('Invitation');
  const token = linkToken();
  const query = useQuery({ ...invitationQuery(token ?? ''), enabled: token !== undefined });
  const code = query.error instanceof ApiError ? query.error.code : null;
  if (token === undefined || code === 'validation_error') return <IncompleteLink />;
  if (code === 'link_expired') return <DeadLink />;
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full rounded-xl" />}>
      {(invitation) => <InvitationCard token={token} invitation={invitation} />}
    </Loaded>
  );
}
