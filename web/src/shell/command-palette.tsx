import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, type LinkOptions } from '@tanstack/react-router';
import {
  Building2,
  Handshake,
  List,
  LogOut,
  Monitor,
  Moon,
  Plus,
  RotateCw,
  Settings,
  Sun,
  Upload,
  UserRound,
} from 'lucide-react';
import { Dialog } from 'radix-ui';
import { useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { contactsQuery } from '../api/contacts.ts';
import { dealsQuery } from '../api/deals.ts';
import { useBrokerage, useBrokerageForNewDeals, useMe } from '../api/me.ts';
import { refreshAll } from '../api/query-client.ts';
import { StatePill } from '../components/badge.tsx';
import { Close } from '../components/dialog.tsx';
import { longestSearch } from '../components/input.tsx';
import { announce } from '../lib/announce.ts';
import { dealStates } from '../lib/states.ts';
import { chooseTheme } from '../lib/theme.ts';
import { folded, wordsOfLabel, wordsOfSearch } from '../lib/folded.ts';
import { foundInWords } from '../lib/use-found.ts';
import { useRested } from '../lib/use-rested.ts';
import { useReturnFocus } from '../lib/use-return-focus.ts';
import { placesFor, settingsFor } from './navigation.ts';
import { OptionList, type Option, type OptionGroup } from './option-list.tsx';
import { useLeave } from './use-leave.ts';

/** Milliseconds without typing after which a search starts. */
const restMillis = 150;
/** Deals, and contacts, that are shown at once. */
const mostShown = 7;

/** A page or an action, which is found by the words of its label, and by others. */
interface Local extends Option {
  readonly label: string;
  readonly words: readonly string[];
}

const local = (label: string, also: string, icon: Option['icon'], run: () => void): Local => ({
  id: `local-${wordsOfLabel(label).join('-')}`,
  label,
  words: wordsOfLabel(`${label} ${also}`),
  icon,
  children: label,
  run,
});

/** Those of which each word begins a word. */
const thatFit = (all: readonly Local[], words: readonly string[]): Local[] =>
  all.filter((one) => words.every((word) => one.words.some((own) => own.startsWith(word))));

/** What is called exactly so first, then what begins so. */
function bestFirst<Row>(rows: readonly Row[], search: string, nameOf: (row: Row) => string): Row[] {
  const wanted = folded(search);
  const rank = (row: Row) => {
    const name = folded(nameOf(row));
    return name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2;
  };
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

interface Answered {
  /** What the server was asked for, after a rest; the person may have typed on since. */
  asked: string;
  search: string;
  words: readonly string[];
}

/** Rows of an answer; of the answer to an earlier search, those that fit this one as well. */
function rowsFor<Row>(
  query: { data: { pages: readonly { items: Row[] }[] } | undefined; isPlaceholderData: boolean },
  { asked, search, words }: Answered,
  textOf: (row: Row) => string,
): Row[] {
  const rows = query.data?.pages[0]?.items ?? [];
  if (asked === search && !query.isPlaceholderData) return rows;
  return rows.filter((row) => words.every((word) => folded(textOf(row)).includes(word)));
}

const failureIn = ({ error, isPaused }: { error: Error | null; isPaused: boolean }): string | null => {
  if (isPaused) return 'Dealkeep cannot be reached.';
  if (error === null) return null;
  return error instanceof ApiError ? error.message : 'Something went wrong. Try again.';
};

/** Announces the number of matching entries to screen readers. */
function useAnnounced(search: string, count: number | null): void {
  useEffect(() => {
    if (search !== '' && count !== null) announce(foundInWords(count));
  }, [search, count]);
}

interface CommandPaletteProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** The command palette: opens any page and runs common actions by typing a few letters. */
export default function CommandPalette({ open, onOpenChange }: CommandPaletteProps) {
  const [typed, setTyped] = useState('');
  const search = typed.trim();
  const rested = useRested(search, restMillis);
  const asked = search === '' ? '' : rested;
  const words = wordsOfSearch(search);
  const me = useMe();
  const brokerage = useBrokerage();
  const mayOpenDeals = useBrokerageForNewDeals() !== null;
  const navigate = useNavigate();
  const client = useQueryClient();
  const deals = useInfiniteQuery({
    ...dealsQuery({ ...(asked !== '' && { search: asked }), sort: '-updated_at', limit: mostShown }),
    enabled: open,
    placeholderData: keepPreviousData,
  });
  const looksForContacts = open && brokerage !== null && asked !== '';
  const contacts = useInfiniteQuery({
    ...contactsQuery(brokerage?.brokerage_id ?? '', { search: asked, limit: mostShown }),
    enabled: looksForContacts,
    placeholderData: keepPreviousData,
  });
  const leave = useLeave();
  const returning = useReturnFocus();
  const close = () => {
    onOpenChange(false);
    setTyped('');
  };
  const go = (link: LinkOptions) => {
    close();
    void navigate(link);
  };
  const answered = { asked, search, words };
  const foundDeals = rowsFor(deals, answered, ({ title, industry, location }) => [title, industry, location].join(' '));
  const foundContacts =
    search === '' || brokerage === null
      ? []
      : rowsFor(contacts, answered, ({ display_name, email, phone }) => [display_name, email, phone].join(' '));
  const failure = failureIn(deals) ?? (looksForContacts ? failureIn(contacts) : null);
  const isAnswered = (query: { isSuccess: boolean; isPlaceholderData: boolean }) =>
    asked === search && query.isSuccess && !query.isPlaceholderData;
  const role = brokerage?.role ?? null;
  const done = (act: () => void) => () => {
    close();
    act();
  };
  const places = placesFor(me).map(({ to, label, icon: Icon }) => local(label, '', <Icon />, () => go({ to })));
  const settings = settingsFor(role).map(({ to, label }) =>
    local(`Settings: ${label}`, '', <Settings />, () => go({ to })),
  );
  const actions = [
    ...(mayOpenDeals
      ? [local('New deal', 'open listing', <Plus />, () => go({ to: '/deals', search: { new: true } }))]
      : []),
    ...(role === null
      ? []
      : [
          local('New contact', 'add person company', <Plus />, () => go({ to: '/contacts', search: { open: 'new' } })),
          local('Import contacts', 'csv file', <Upload />, () => go({ to: '/contacts', search: { open: 'import' } })),
        ]),
    local(
      'Light appearance',
      'theme',
      <Sun />,
      done(() => chooseTheme('light')),
    ),
    local(
      'Dark appearance',
      'theme',
      <Moon />,
      done(() => chooseTheme('dark')),
    ),
    local(
      'Use device appearance',
      'system theme',
      <Monitor />,
      done(() => chooseTheme('system')),
    ),
    local(
      'Reload everything',
      'load again refresh',
      <RotateCw />,
      done(() => void refreshAll(client)),
    ),
    local(
      'Sign out',
      'leave log out',
      <LogOut />,
      done(() => void leave()),
    ),
  ];
  const labelWords = wordsOfLabel(search);
  const fittingPlaces = search === '' ? places : thatFit([...places, ...settings], labelWords);
  const fittingActions = thatFit(actions, labelWords);
  const dealOptions = bestFirst(foundDeals, search, ({ title }) => title).map((deal): Option => ({
    id: deal.id,
    icon: <Handshake />,
    children: (
      <>
        <span className="truncate">{deal.title}</span>
        <StatePill look={dealStates[deal.state]} />
      </>
    ),
    run: () => go({ to: '/deals/$dealId', params: { dealId: deal.id } }),
  }));
  const contactOptions = bestFirst(foundContacts, search, ({ display_name }) => display_name).map(
    ({ id, type, display_name, email, phone }): Option => ({
      id,
      icon: type === 'company' ? <Building2 /> : <UserRound />,
      children: (
        <>
          <span className="truncate">{display_name}</span>
          <span className="truncate text-sm text-faint">{email ?? phone}</span>
        </>
      ),
      run: () => go({ to: '/contacts', search: { open: id } }),
    }),
  );
  const lists: Option[] = [];
  // Also while the server is asked, so that Enter leads somewhere at once.
  if (search !== '' && (dealOptions.length > 0 || !isAnswered(deals)))
    lists.push({
      id: 'all-deals',
      icon: <List />,
      children: <span className="truncate">All deals with “{search}”</span>,
      run: () => go({ to: '/deals', search: { search } }),
    });
  if (search !== '' && brokerage !== null && (contactOptions.length > 0 || !isAnswered(contacts)))
    lists.push({
      id: 'all-contacts',
      icon: <List />,
      children: <span className="truncate">All contacts with “{search}”</span>,
      run: () => go({ to: '/contacts', search: { search } }),
    });
  const ofServer: OptionGroup[] = [
    { heading: search === '' ? 'Latest deals' : 'Deals', options: dealOptions },
    { heading: 'Contacts', options: contactOptions },
  ];
  const pages: OptionGroup = { heading: 'Pages', options: fittingPlaces };
  const ofActions: OptionGroup = { heading: 'Actions', options: fittingActions };
  const isCalledSo = [...fittingPlaces, ...fittingActions].some(({ label }) => folded(label) === folded(search));
  const inOrder =
    search === ''
      ? [pages, ...ofServer, ofActions]
      : isCalledSo
        ? [pages, ofActions, ...ofServer]
        : [...ofServer, pages, ofActions];
  const groups = [...inOrder, { heading: 'Lists', options: lists }].filter(({ options }) => options.length > 0);
  const count = dealOptions.length + contactOptions.length + fittingPlaces.length + fittingActions.length;
  const isComplete = isAnswered(deals) && (!looksForContacts || isAnswered(contacts));
  useAnnounced(search, isComplete ? count : null);
  const nothingYet = dealOptions.length + contactOptions.length === 0;
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(next) => {
        if (next) onOpenChange(true);
        else close();
      }}
    >
      <Dialog.Portal>
        <Dialog.Overlay className="appear-fade fixed inset-0 z-50 bg-scrim" />
        <Dialog.Content
          {...returning}
          aria-describedby={undefined}
          className="appear-pop fixed inset-x-3 top-[max(0.75rem,10dvh)] z-50 mx-auto max-w-xl overflow-hidden rounded-xl bg-surface shadow-3"
        >
          <Dialog.Title className="sr-only">Go to a page or run an action</Dialog.Title>
          <OptionList
            label="Go to a page or run an action"
            placeholder={role === null ? 'Search deals and actions' : 'Search deals, contacts, actions'}
            typed={typed}
            onType={setTyped}
            maxLength={longestSearch}
            groups={groups}
          >
            {failure !== null ? (
              <p role="alert" className="px-5 pt-4 text-bad">
                {failure}
              </p>
            ) : !isComplete && nothingYet && search !== '' ? (
              <p className="px-5 pt-4 text-faint">Searching…</p>
            ) : (
              isComplete &&
              count === 0 && <p className="px-5 py-8 text-center text-faint">No results for “{search}”.</p>
            )}
          </OptionList>
          {/* Outside of the list, which handles Enter itself. */}
          <Close className="top-2 right-2 coarse:top-1 coarse:right-1" />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
