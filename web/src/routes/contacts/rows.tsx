/** A contact in the list: a table row, or a card on a phone. */
import { Archive, ArchiveRestore, Building2, UserRound } from 'lucide-react';
import type { Contact, Id } from '../../api/shapes.ts';
import { IconButton } from '../../components/button.tsx';
import { CheckboxBox } from '../../components/checkbox.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Time } from '../../components/time.tsx';
import { contactTypes } from '../../lib/states.ts';

function Name({ contact }: { contact: Contact }) {
  const Icon = contact.type === 'company' ? Building2 : UserRound;
  return (
    <span className="flex items-center gap-2.5">
      <Icon className="size-4 shrink-0 text-faint" aria-hidden />
      <span className="sr-only">{contactTypes[contact.type]}: </span>
      <span className="truncate font-medium text-ink">{contact.display_name}</span>
    </span>
  );
}

const Nothing = () => <span className="text-faint">–</span>;

/** The columns of the list of contacts. */
export const contactColumns: Column<Contact>[] = [
  {
    id: 'name',
    header: 'Name',
    sort: 'display_name',
    width: 'minmax(11rem, 2fr)',
    cell: (contact) => <Name contact={contact} />,
  },
  {
    id: 'email',
    header: 'E-mail',
    width: 'minmax(10rem, 1.6fr)',
    from: 'sm',
    cell: ({ email }) => (email === null ? <Nothing /> : <span className="block truncate text-soft">{email}</span>),
  },
  {
    id: 'phone',
    header: 'Phone',
    width: 'minmax(9.75rem, 1fr)',
    from: 'md',
    cell: ({ phone }) =>
      phone === null ? <Nothing /> : <span className="block truncate text-soft tabular">{phone}</span>,
  },
  {
    id: 'created',
    header: 'Added',
    sort: 'created_at',
    width: '8.5rem',
    align: 'end',
    from: 'lg',
    cell: ({ created_at }) => <Time at={created_at} className="text-soft" />,
  },
];

interface Choice {
  chosen: ReadonlySet<Id>;
  /** Whether every row is chosen, or some are. */
  all: boolean | 'indeterminate';
  /** Chooses a row or no longer; `extend` does it to the rows since the last one, too. */
  choose: (contact: Contact, extend: boolean) => void;
  chooseAll: () => void;
}

/** The column with the checkboxes that choose contacts. */
export const choiceColumn = ({ chosen, all, choose, chooseAll }: Choice): Column<Contact> => ({
  id: 'choice',
  header: 'Select',
  control: <CheckboxBox aria-label="Select all contacts shown" checked={all} onClick={chooseAll} />,
  width: '2.75rem',
  cell: (contact, reachable) =>
    !contact.erased_at && (
      <CheckboxBox
        aria-label={`Select ${contact.display_name}`}
        tabIndex={reachable ? 0 : -1}
        checked={chosen.has(contact.id)}
        onClick={(event) => {
          event.stopPropagation();
          choose(contact, event.shiftKey);
        }}
      />
    ),
});

/** The column with the button that archives or restores a contact. */
export const archiveColumn = (toggle: (contact: Contact) => void): Column<Contact> => ({
  id: 'archive',
  header: 'Archive',
  hideHeader: true,
  width: '4rem',
  align: 'end',
  cell: (contact, reachable) =>
    !contact.erased_at && (
      <IconButton
        size="sm"
        tabIndex={reachable ? 0 : -1}
        label={`${contact.archived_at === null ? 'Archive' : 'Restore'} ${contact.display_name}`}
        icon={contact.archived_at === null ? <Archive className="size-4" /> : <ArchiveRestore className="size-4" />}
        onClick={(event) => {
          event.stopPropagation();
          toggle(contact);
        }}
      />
    ),
});

/** The card of a contact, shown on phones. */
export const contactCard = (contact: Contact) => (
  <>
    <Name contact={contact} />
    <span className="mt-1 flex flex-wrap gap-x-3 pl-6.5 text-sm text-soft">
      {contact.email !== null && <span className="min-w-0 truncate">{contact.email}</span>}
      {contact.phone !== null && <span className="min-w-0 truncate tabular">{contact.phone}</span>}
      {contact.email === null && contact.phone === null && 'No e-mail or phone'}
    </span>
  </>
);
