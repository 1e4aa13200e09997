import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Archive, ArchiveRestore, ContactRound, Download, Plus, SearchX, Upload } from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import {
  contactQuery,
  contactsExport,
  contactsQuery,
  mostContactsAtOnce,
  useContactActions,
} from '../../api/contacts.ts';
import { useBrokerage } from '../../api/me.ts';
import type { Contact, ContactSort, Id } from '../../api/shapes.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { useConfirm } from '../../components/confirm-dialog.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { Select } from '../../components/input.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { itemsOf, PagedList } from '../../components/paged-list.tsx';
import { EmptyState, SkeletonRows } from '../../components/states.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { download } from '../../lib/download.ts';
import { formatCount, plural } from '../../lib/format.ts';
import { isUuid } from '../../lib/uuid.ts';
import { readContactsSearch, type ContactsSearch } from './search.ts';
import { ContactDialog } from './dialog.tsx';
import { archiveColumn, choiceColumn, contactCard, contactColumns } from './rows.tsx';
import { ImportContactsDialog } from './import-dialog.tsx';

const route = getRouteApi('/app/contacts');

type SearchChange = { [K in keyof ContactsSearch]?: ContactsSearch[K] | undefined };

/** The search, and whether archived contacts are shown instead. */
function Filters({ search, change }: { search: ContactsSearch; change: (part: SearchChange) => void }) {
  return (
    <FilterBar label="Search contacts" search={search.search ?? ''} onSearch={(text) => change({ search: text })}>
      <div className="flex-[0_1_11rem] max-sm:flex-[1_1_11rem]">
        <Select
          aria-label="Which contacts"
          value={search.archived ? 'archived' : 'present'}
          onChange={(which) => change({ archived: which === 'archived' ? true : undefined })}
          options={[
            { value: 'present', label: 'Active contacts' },
            { value: 'archived', label: 'Archived contacts' },
          ]}
        />
      </div>
    </FilterBar>
  );
}

type Open = { kind: 'new' } | { kind: 'import' } | { kind: 'contact'; contact: Contact } | null;

/** The dialog that the page's address asks for. */
function askedFor(wanted: string | undefined, rows: readonly Contact[]): Open {
  if (wanted === 'new' || wanted === 'import') return { kind: wanted };
  const contact = rows.find(({ id }) => id === wanted);
  return contact ? { kind: 'contact', contact } : null;
}

interface Shown {
  /** The value of the address's `open` when the dialog was opened. */
  asked: string | undefined;
  open: Open;
}

/**
 * The next state: the dialog follows the address when that changes; a contact's dialog stays open when the contact
 * leaves the list meanwhile.
 */
function shownNext(shown: Shown, wanted: string | undefined, rows: readonly Contact[]): Shown {
  const before = shown.asked === wanted ? shown.open : null;
  const open = before ?? askedFor(wanted, rows);
  return shown.asked === wanted && shown.open === open ? shown : { asked: wanted, open };
}

function Contacts({ brokerageId, isAdmin }: { brokerageId: Id; isAdmin: boolean }) {
  const { open: wanted, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const [shown, setShown] = useState<Shown>({ asked: undefined, open: null });
  const query = useInfiniteQuery({ ...contactsQuery(brokerageId, filter), placeholderData: keepPreviousData });
  const { archive, restore, erase, putMany } = useContactActions(brokerageId);
  const change = useCallback(
    (part: SearchChange) => {
      const search = (before: ContactsSearch) => readContactsSearch({ ...before, ...part });
      void navigate({ to: '/contacts', search, replace: true, resetScroll: false });
    },
    [navigate],
  );
  const items = useMemo(() => itemsOf(query.data), [query.data]);
  // A link can lead to a contact that is not among the rows.
  const isElsewhere = query.isFetched && isUuid(wanted ?? '') && !items.some(({ id }) => id === wanted);
  const elsewhere = useQuery({ ...contactQuery(wanted ?? ''), enabled: isElsewhere });
  const bare = query.isSuccess && items.length === 0 && !filter.search && !filter.archived;
  const next = shownNext(shown, wanted, elsewhere.data ? [...items, elsewhere.data] : items);
  if (next !== shown) setShown(next);
  const { open } = next;
  const setOpen = useCallback((chosen: Open) => setShown(({ asked }) => ({ asked, open: chosen })), [setShown]);
  // Also removes `open` from the address, which would otherwise open the dialog again.
  const close = () => (wanted === undefined ? setOpen(null) : change({ open: undefined }));
  const { mutateAsync: putAway } = archive;
  const { mutateAsync: takeBack } = restore;
  const toggle = useCallback(
    async ({ id, display_name, archived_at }: Contact) => {
      const wasThere = archived_at === null;
      try {
        await (wasThere ? putAway(id) : takeBack(id));
        toast(`${display_name} ${wasThere ? 'archived' : 'restored'}`, {
          undo: () => (wasThere ? takeBack(id) : putAway(id)),
        });
      } catch (error) {
        toastError(error);
      }
    },
    [putAway, takeBack],
  );
  const confirm = useConfirm();
  const { mutateAsync: eraseForGood } = erase;
  const askErase = ({ id, display_name }: Contact) =>
    confirm(
      {
        title: `Erase ${display_name}?`,
        body: 'Name, e-mail, phone and the id in other systems are deleted from this contact and from the duplicates merged into it. What is left is archived. This cannot be undone. Deals and what was written on them stay as they are.',
        action: 'Erase contact',
        danger: true,
        done: 'Contact erased',
      },
      async () => {
        await eraseForGood(id);
        close();
      },
    );
  const choice = useChoice(items);
  const own = useMemo(() => [...contactColumns, archiveColumn((contact) => void toggle(contact))], [toggle]);
  const table = useMemo(() => [choice.column, ...own], [choice, own]);
  const putChosen = async () => {
    const archived = !filter.archived;
    try {
      const { ids } = await putMany.mutateAsync({ ids: choice.chosen.map(({ id }) => id), archived });
      choice.clear();
      const left = !archived && ids.length < choice.chosen.length ? '. Merged duplicates are restored one by one.' : '';
      toast(
        `${plural(ids.length, 'contact')} ${archived ? 'archived' : 'restored'}${left}`,
        ids.length > 0 ? { undo: () => putMany.mutateAsync({ ids, archived: !archived }) } : {},
      );
    } catch (error) {
      toastError(error);
    }
  };
  const onOpen = useCallback((contact: Contact) => setOpen({ kind: 'contact', contact }), [setOpen]);
  const openNew = (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setOpen({ kind: 'new' })}>
      New contact
    </Button>
  );
  const openImport = (
    <Button icon={<Upload className="size-4" />} onClick={() => setOpen({ kind: 'import' })}>
      Import
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Contacts"
        description="People and companies that every member of your brokerage can see."
        actions={
          <>
            <Button
              icon={<Download className="size-4" />}
              onClick={() => download(contactsExport(brokerageId, filter))}
            >
              Export
            </Button>
            {!bare && (
              <>
                {openImport}
                {openNew}
              </>
            )}
          </>
        }
      />
      <div className="rounded-xl border border-line bg-surface shadow-1">
        <Filters search={filter} change={change} />
        <PagedList
          query={query}
          filter={filter}
          skeleton={<SkeletonRows rows={10} />}
          empty={
            filter.search ? (
              <EmptyState
                icon={SearchX}
                title="No matching contacts"
                action={<Button onClick={() => change({ search: undefined })}>Clear search</Button>}
              >
                Try fewer words, or look among the {filter.archived ? 'active' : 'archived'} contacts.
              </EmptyState>
            ) : filter.archived ? (
              <EmptyState icon={Archive} title="Nothing archived">
                Contacts that you archive leave the list and are kept here.
              </EmptyState>
            ) : (
              <EmptyState
                icon={ContactRound}
                title="No contacts yet"
                action={
                  <span className="flex flex-wrap justify-center gap-2">
                    {openImport}
                    {openNew}
                  </span>
                }
              >
                Add people and companies that your brokerage keeps track of, or import them from a CSV file.
              </EmptyState>
            )
          }
        >
          {(rows) => (
            <DataTable
              label="Contacts"
              rows={rows}
              rowKey={(contact) => contact.id}
              columns={table}
              onOpen={onOpen}
              renderCard={contactCard}
              sort={filter.sort ?? 'display_name'}
              onSort={(sort) => change({ sort: sort as ContactSort })}
              more={query.hasNextPage}
            />
          )}
        </PagedList>
        {choice.chosen.length > 0 && (
          <div className="sticky bottom-[calc(3.5rem+env(safe-area-inset-bottom))] z-10 flex flex-wrap items-center gap-2 rounded-b-xl border-t border-line bg-surface px-4 py-2.5 lg:bottom-0">
            <span role="status" className="mr-auto text-soft">
              {plural(choice.chosen.length, 'contact')} selected
              {choice.isCut && `, ${formatCount(mostContactsAtOnce)} at most`}
            </span>
            <Button kind="quiet" size="sm" onClick={choice.clear}>
              Clear selection
            </Button>
            <Button
              size="sm"
              icon={
                filter.archived ? (
                  <ArchiveRestore className="size-4" aria-hidden />
                ) : (
                  <Archive className="size-4" aria-hidden />
                )
              }
              pending={putMany.isPending}
              onClick={() => void putChosen()}
            >
              {filter.archived ? 'Restore selected' : 'Archive selected'}
            </Button>
          </div>
        )}
      </div>
      {open?.kind === 'import' && <ImportContactsDialog brokerageId={brokerageId} onClose={close} />}
      {(open?.kind === 'new' || open?.kind === 'contact') && (
        <ContactDialog
          // A dialog instance per contact: its fields are initialized only once.
          key={open.kind === 'contact' ? open.contact.id : 'new'}
          brokerageId={brokerageId}
          contact={open.kind === 'contact' ? open.contact : null}
          onArchive={(contact) => {
            close();
            void toggle(contact);
          }}
          onErase={isAdmin ? askErase : null}
          onClose={close}
        />
      )}
    </>
  );
}

const nothingChosen = { ids: new Set<Id>(), last: null, isCut: false };

/** Which of the contacts shown are chosen: only those are, whatever was chosen in another list. */
function useChoice(items: readonly Contact[]) {
  const [{ ids, last, isCut }, setChoice] = useState<{ ids: ReadonlySet<Id>; last: Id | null; isCut: boolean }>(
    nothingChosen,
  );
  return useMemo(() => {
    const choosable = items.filter(({ erased_at }) => erased_at === null);
    const chosen = choosable.filter(({ id }) => ids.has(id));
    const isAll = chosen.length > 0 && chosen.length === choosable.length;
    const set = (changed: readonly Contact[], to: boolean, by: Id | null) => {
      const rest = chosen.filter((contact) => !changed.includes(contact));
      const next = new Set([...rest, ...(to ? changed : [])].map(({ id }) => id));
      setChoice({
        ids: new Set([...next].slice(0, mostContactsAtOnce)),
        last: by,
        isCut: next.size > mostContactsAtOnce,
      });
    };
    const choose = (contact: Contact, extend: boolean) => {
      const at = choosable.indexOf(contact);
      const from = extend ? choosable.findIndex(({ id }) => id === last) : -1;
      const range = from < 0 ? [contact] : choosable.slice(Math.min(from, at), Math.max(from, at) + 1);
      set(range, !ids.has(contact.id), contact.id);
    };
    const all = isAll || (chosen.length > 0 && ('indeterminate' as const));
    const chooseAll = () => set(choosable, !isAll, null);
    return {
      chosen,
      isCut,
      column: choiceColumn({ chosen: ids, all, choose, chooseAll }),
      clear: () => setChoice(nothingChosen),
    };
  }, [items, ids, last, isCut]);
}

/** The brokerage's contacts: people and companies outside any deal. */
export default function ContactsPage() {
  const brokerage = useBrokerage();
  if (brokerage)
    return (
      <Contacts
        key={brokerage.brokerage_id}
        brokerageId={brokerage.brokerage_id}
        isAdmin={brokerage.role === 'admin'}
      />
    );
  return (
    <>
      <PageHeader title="Contacts" />
      <Card>
        <EmptyState icon={ContactRound} title="Contacts belong to a brokerage">
          You are not a member of one. Ask an admin to invite you.
        </EmptyState>
      </Card>
    </>
  );
}
