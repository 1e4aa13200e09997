import { useInfiniteQuery } from '@tanstack/react-query';
import { contactsQuery, useContactActions } from '../../api/contacts.ts';
import type { Contact, ContactInput, Id } from '../../api/shapes.ts';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Input, Select } from '../../components/input.tsx';
import { toast } from '../../components/toast.tsx';
import { useAskDiscard } from '../../components/unsaved.tsx';
import { useRested } from '../../lib/use-rested.ts';
import { longestEmailAddress } from '../../lib/lengths.ts';
import { contactTypes, optionsOf } from '../../lib/states.ts';
import { orNull, required, sendChanges, useForm } from '../../lib/use-form.ts';

type Values = Record<'display_name' | 'email' | 'phone', string> & Pick<ContactInput, 'type'>;

const toInput = ({ type, display_name, email, phone }: Values): ContactInput => ({
  type,
  display_name: display_name.trim(),
  email: orNull(email),
  phone: orNull(phone),
});

/** The name of a contact that has this address already; null while there is none. */
function useNameWithAddress(brokerageId: Id, typed: string): string | null {
  const address = useRested(typed, 500).trim().toLowerCase();
  const options = { enabled: /^\S+@\S+$/.test(address) && address.length <= 200 };
  const filter = { search: address, limit: 20 };
  const present = useInfiniteQuery({ ...contactsQuery(brokerageId, filter), ...options });
  const archived = useInfiniteQuery({ ...contactsQuery(brokerageId, { ...filter, archived: 'true' }), ...options });
  const holder = [present, archived]
    .flatMap(({ data }) => data?.pages[0]?.items ?? [])
    .find(({ email }) => email?.toLowerCase() === address);
  if (!holder || !options.enabled) return null;
  return holder.archived_at === null ? holder.display_name : `${holder.display_name}, who is archived,`;
}

interface ContactDialogProps {
  brokerageId: Id;
  /** The contact to change; null to add a new one. */
  contact: Contact | null;
  onArchive: (contact: Contact) => void;
  /** Erases the contact for good; null for people who may not. */
  onErase: ((contact: Contact) => void) | null;
  onClose: () => void;
}

/** Adds a contact, or shows one to be changed, archived or, by an admin, erased. */
export function ContactDialog({ brokerageId, contact, onArchive, onErase, onClose }: ContactDialogProps) {
  const { add, change } = useContactActions(brokerageId);
  const form = useForm<Values>({
    initial: {
      type: contact?.type ?? 'person',
      display_name: contact?.display_name ?? '',
      email: contact?.email ?? '',
      phone: contact?.phone ?? '',
    },
    draft: `contact/${contact?.id ?? `new in ${brokerageId}`}`,
    check: (values) => required(values, { display_name: 'Enter a name.' }),
    submit: (values, before) =>
      contact
        ? sendChanges(toInput(before), toInput(values), (changes) => change.mutateAsync({ id: contact.id, ...changes }))
        : add.mutateAsync(toInput(values)),
    onDone: (_, { display_name }) => {
      onClose();
      toast(contact ? 'Contact saved' : `${display_name.trim()} added`);
    },
  });
  const holder = useNameWithAddress(brokerageId, contact === null ? form.values.email : '');
  const askDiscard = useAskDiscard();
  /** Drops what was typed, if the user agrees, before something else is done with the contact. */
  const instead = async (act: (one: Contact) => void, one: Contact) => {
    if (form.dirty && !(await askDiscard())) return;
    form.reset();
    act(one);
  };
  return (
    <FormDialog
      form={form}
      title={contact ? contact.display_name : 'New contact'}
      action={contact ? 'Save' : 'Add contact'}
      aside={
        contact &&
        !contact.erased_at && (
          <span className="flex gap-2 sm:mr-auto">
            <Button kind="quiet" disabled={form.pending} onClick={() => void instead(onArchive, contact)}>
              {contact.archived_at === null ? 'Archive' : 'Restore'}
            </Button>
            {onErase && (
              <Button kind="quiet" disabled={form.pending} onClick={() => void instead(onErase, contact)}>
                Erase…
              </Button>
            )}
          </span>
        )
      }
      onClose={onClose}
    >
      {contact?.erased_at && (
        <p className="text-soft">This contact was erased for good: it cannot be changed or restored.</p>
      )}
      <Field label="Name" error={form.errors.display_name}>
        <Input {...form.text('display_name')} autoComplete="off" />
      </Field>
      <Field label="Type" error={form.errors.type}>
        <Select {...form.field('type')} options={optionsOf(contactTypes)} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="E-mail" optional error={form.errors.email} hint={holder && `${holder} already has this address.`}>
          <Input {...form.text('email')} type="email" maxLength={longestEmailAddress} autoComplete="off" />
        </Field>
        <Field label="Phone" optional error={form.errors.phone}>
          <Input {...form.text('phone')} type="tel" autoComplete="off" />
        </Field>
      </div>
    </FormDialog>
  );
}
