import { useQuery } from '@tanstack/react-query';
import { useBrokerage } from '../../../api/me.ts';
import { brokerageExport, brokerageQuery, mostOfPicture, useMemberActions } from '../../../api/settings.ts';
import type { Brokerage } from '../../../api/shapes.ts';
import { BrokerageLogo } from '../../../components/brokerage-logo.tsx';
import { Button } from '../../../components/button.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FileDrop } from '../../../components/file-drop.tsx';
import { FormFields } from '../../../components/form-fields.tsx';
import { Input } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { download } from '../../../lib/download.ts';
import { formatCount, formatTime } from '../../../lib/format.ts';
import { lengths } from '../../../lib/lengths.ts';
import { memberRoles } from '../../../lib/states.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { ConfirmationCard } from '../confirmation-card.tsx';
import { NoBrokerage } from '../no-brokerage.tsx';
import { SettingsPage } from '../settings-page.tsx';

function NameForm({ brokerage }: { brokerage: Brokerage }) {
  const { rename } = useMemberActions(brokerage.id);
  const form = useForm<{ name: string }, Brokerage>({
    initial: { name: brokerage.name },
    draft: `brokerage-name/${brokerage.id}`,
    check: (values) => required(values, { name: 'Enter the brokerage’s name.' }),
    submit: ({ name }) => rename.mutateAsync(name.trim()),
    onDone: () => toast('Brokerage renamed'),
  });
  return (
    <FormFields form={form} className="max-w-md">
      <Field label="Name" error={form.errors.name} hint="People see it on your deals and in your invitations.">
        <Input {...form.text('name')} maxLength={lengths.brokerages.name} autoComplete="organization" />
      </Field>
      <div>
        <Button type="submit" kind="primary" pending={form.pending} idle={!form.dirty}>
          Save
        </Button>
      </div>
    </FormFields>
  );
}

/** Whether the brokerage requires a second factor of its members; admins can change it. */
function FactorRule({ brokerage }: { brokerage: Brokerage }) {
  const { requireFactor } = useMemberActions(brokerage.id);
  const withRecentSignIn = useRecentSignIn();
  const confirm = useConfirm();
  const demanded = brokerage.requires_second_factor;
  const ask = () =>
    confirm(
      demanded
        ? {
            title: 'No longer require a second factor?',
            body: 'Members can then sign in with their password alone, unless they have set up more.',
            action: 'No longer require it',
            done: 'Members no longer need a second factor',
            danger: true,
          }
        : {
            title: 'Require a second factor?',
            body: 'Members without an authenticator or a passkey have no access to the brokerage until they have set one up: no contacts, no deals, no settings. API keys that they created or last rotated stop working. Assistants and calendar links that any member connected without a second factor stop working; members can connect them again once they sign in with one.',
            action: 'Require it',
            done: 'Members now need a second factor',
          },
      () => withRecentSignIn(() => requireFactor.mutateAsync(!demanded)),
    );
  return (
    <Card
      title="Second factor"
      description={
        demanded
          ? 'Every member signs in with an authenticator or a passkey. Members without one have no access to the brokerage.'
          : 'Members may sign in with their password alone.'
      }
    >
      {brokerage.role === 'admin' ? (
        <Button onClick={ask}>{demanded ? 'No longer require it' : 'Require a second factor'}</Button>
      ) : (
        <p className="text-sm text-faint">An admin can change this.</p>
      )}
    </Card>
  );
}

/** When the brokerage will be deleted; admins can cancel the deletion. */
function DeletionNotice({ brokerage, at }: { brokerage: Brokerage; at: string }) {
  const { cancelDeletion } = useMemberActions(brokerage.id);
  const isAdmin = brokerage.role === 'admin';
  return (
    <Notice
      tone="warn"
      title={`${brokerage.name} will be deleted on ${formatTime(at)}`}
      action={
        isAdmin && (
          <Button
            pending={cancelDeletion.isPending}
            onClick={() =>
              cancelDeletion.mutate(undefined, {
                onSuccess: () => toast('The deletion is canceled'),
                onError: toastError,
              })
            }
          >
            Cancel deletion
          </Button>
        )
      }
    >
      {brokerage.deletion_asked_by ?? 'The operator of this service'} requested this. Until then everything stays as it
      is; then its deals, documents, contacts and members are deleted for good.{' '}
      {!isAdmin && 'Any admin can cancel this.'}
    </Notice>
  );
}

/** The brokerage's logo, shown in mails and on deals; for admins. */
function LogoCard({ brokerage }: { brokerage: Brokerage }) {
  const { uploadLogo, removeLogo } = useMemberActions(brokerage.id);
  const isPending = uploadLogo.isPending || removeLogo.isPending;
  return (
    <Card
      title="Logo"
      description="Shown at the top of e-mails about your deals, in your invitations, and on the overview of each deal."
    >
      <div className="flex max-w-md flex-col gap-4">
        <BrokerageLogo brokerageId={brokerage.id} at={brokerage.logo_at} />
        <FileDrop
          accept=".png,.jpg,.jpeg,.webp"
          hint={`PNG or JPEG, which every e-mail program shows, or WebP; up to ${mostOfPicture.words} and ${formatCount(mostOfPicture.side)} pixels on a side.`}
          disabled={isPending}
          onFiles={([file]) =>
            file && uploadLogo.mutate(file, { onSuccess: () => toast('Logo saved'), onError: toastError })
          }
        />
        {brokerage.logo_at !== null && (
          <div>
            <Button
              pending={removeLogo.isPending}
              onClick={() =>
                removeLogo.mutate(undefined, { onSuccess: () => toast('Logo removed'), onError: toastError })
              }
            >
              Remove the logo
            </Button>
          </div>
        )}
      </div>
    </Card>
  );
}

/** The export of the brokerage's data, for admins. */
function ExportCard({ brokerage }: { brokerage: Brokerage }) {
  const { askExport } = useMemberActions(brokerage.id);
  const withRecentSignIn = useRecentSignIn();
  const take = () =>
    withRecentSignIn(() => askExport.mutateAsync()).then(() => download(brokerageExport(brokerage.id)), toastError);
  return (
    <Card
      title="Export"
      description="Deals, people, contacts and documents as one archive (ZIP): every table for spreadsheets and for programs, and the documents themselves. It contains what you can see; for a deal you are not on, that is what its viewers see. Who did what on a deal is in the audit trail. The operator of this service can export everything."
    >
      <Button pending={askExport.isPending} onClick={() => void take()}>
        Download the archive
      </Button>
    </Card>
  );
}

/** Requests the deletion of the brokerage, for admins. */
function DeletionCard({ brokerage }: { brokerage: Brokerage }) {
  const { askDeletion } = useMemberActions(brokerage.id);
  return (
    <ConfirmationCard
      title="Delete the brokerage"
      description="Its deals with everything in them, documents, contacts, keys and members are deleted for good after a few weeks, during which any admin can cancel. Every admin is notified by e-mail. People who are or were members of another brokerage, or on one of its deals, keep their accounts; all other accounts are erased."
      word={brokerage.slug}
      wrong={`Type ${brokerage.slug} to confirm.`}
      action="Delete the brokerage"
      submit={(confirmation) => askDeletion.mutateAsync(confirmation)}
      onDone={() => toast('The admins are notified by e-mail')}
    />
  );
}

/**
 * The settings page “Brokerage”: its name, the person's role, the second factor, and for admins logo, export and
 * deletion.
 */
export default function BrokerageSettings() {
  const id = useBrokerage()?.brokerage_id ?? null;
  const query = useQuery({ ...brokerageQuery(id ?? ''), enabled: id !== null });
  return (
    <SettingsPage title="Brokerage">
      {query.data?.deleted_at != null && <DeletionNotice brokerage={query.data} at={query.data.deleted_at} />}
      {id === null ? (
        <NoBrokerage />
      ) : (
        <Card>
          <Loaded query={query} skeleton={<SkeletonText lines={5} />}>
            {(brokerage) => (
              <div className="flex flex-col gap-5">
                {brokerage.role === 'admin' && <NameForm key={brokerage.id} brokerage={brokerage} />}
                <Facts>
                  {brokerage.role !== 'admin' && <Fact label="Name">{brokerage.name}</Fact>}
                  <Fact label="Short name">{brokerage.slug}</Fact>
                  <Fact label="Your role">{memberRoles[brokerage.role].label}</Fact>
                  <Fact label="On Dealkeep since">
                    <Time at={brokerage.created_at} as="date" />
                  </Fact>
                </Facts>
                {brokerage.role !== 'admin' && <p className="text-sm text-faint">An admin can change the name.</p>}
              </div>
            )}
          </Loaded>
        </Card>
      )}
      {query.data?.role === 'admin' && <LogoCard brokerage={query.data} />}
      {query.data && <FactorRule brokerage={query.data} />}
      {query.data?.role === 'admin' && <ExportCard brokerage={query.data} />}
      {query.data?.role === 'admin' && query.data.deleted_at === null && <DeletionCard brokerage={query.data} />}
    </SettingsPage>
  );
}
