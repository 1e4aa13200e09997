import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, type LinkOptions } from '@tanstack/react-router';
import { Command, useCommandState } from 'cmdk';
import {
  Building2,
  CornerDownLeft,
  Handshake,
  LogOut,
  Monitor,
  Moon,
  Plus,
  RotateCw,
  Search,
  Settings,
  Sun,
  Upload,
  UserRound,
} from 'lucide-react';
import { Dialog } from 'radix-ui';
import { useDeferredValue, useEffect, useState, type ReactNode } from 'react';
import { contactsQuery } from '../api/contacts.ts';
import { dealsQuery } from '../api/deals.ts';
import { useBrokerage, useBrokerageForNewDeals, useMe } from '../api/me.ts';
import { refreshAll } from '../api/query-client.ts';
import { StatePill } from '../components/badge.tsx';
import { Close } from '../components/dialog.tsx';
import { announce } from '../lib/announce.ts';
import { dealStates } from '../lib/states.ts';
import { chooseTheme } from '../lib/theme.ts';
import { foundInWords } from '../lib/use-found.ts';
import { useReturnFocus } from '../lib/use-return-focus.ts';
import { placesFor, settingsFor } from './navigation.ts';
import { useLeave } from './use-leave.ts';

const row =
  'group flex cursor-pointer items-center gap-3 rounded-md px-3 py-2 text-ink select-none data-[selected=true]:bg-accent-wash ' +
  'coarse:min-h-12 [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint';
const group =
  '[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-3 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint';

interface EntryProps {
  value: string;
  icon: ReactNode;
  onSelect: () => void;
  children: ReactNode;
}

function Entry({ value, icon, onSelect, children }: EntryProps) {
  return (
    <Command.Item value={value} onSelect={onSelect} className={row}>
      {icon}
      <span className="flex min-w-0 flex-1 items-center justify-between gap-3">{children}</span>
      <CornerDownLeft className="invisible group-data-[selected=true]:visible" aria-hidden />
    </Command.Item>
  );
}

const mostContacts = 5;

/** Announces the number of matching entries to screen readers. */
function Found({ search, asking }: { search: string; asking: boolean }) {
  const count = useCommandState(({ filtered }) => filtered.count);
  // `count` is updated slightly later than the search, which is deferred.
  useEffect(() => {
    if (search !== '' && !asking) announce(foundInWords(count));
  }, [search, asking, count]);
  return null;
}

interface CommandPaletteProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** The command palette: opens any page and runs common actions by typing a few letters. */
export default function CommandPalette({ open, onOpenChange }: CommandPaletteProps) {
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed.trim());
  const me = useMe();
  const brokerage = useBrokerage();
  const mayOpenDeals = useBrokerageForNewDeals() !== null;
  const navigate = useNavigate();
  const client = useQueryClient();
  const deals = useInfiniteQuery({
    ...dealsQuery(search === '' ? { sort: '-updated_at' } : { search, sort: '-updated_at' }),
    enabled: open,
    placeholderData: keepPreviousData,
  });
  const contacts = useInfiniteQuery({
    ...contactsQuery(brokerage?.brokerage_id ?? '', { search, limit: mostContacts }),
    enabled: open && brokerage !== null && search !== '',
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
  const found = deals.data?.pages[0]?.items.slice(0, 6) ?? [];
  const people = search === '' ? [] : (contacts.data?.pages[0]?.items ?? []);
  const role = brokerage?.role ?? null;
  const places = (
    <Command.Group heading="Pages" className={group}>
      {placesFor(me).map(({ to, label, icon: Icon }) => (
        <Entry key={to} value={`page ${label}`} icon={<Icon />} onSelect={() => go({ to })}>
          {label}
        </Entry>
      ))}
      {search !== '' &&
        settingsFor(role).map(({ to, label }) => (
          <Entry key={to} value={`page settings ${label}`} icon={<Settings />} onSelect={() => go({ to })}>
            Settings: {label}
          </Entry>
        ))}
    </Command.Group>
  );
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
          <Command loop label="Go to a page or run an action">
            <div className="flex items-center gap-3 border-b border-line pr-14 pl-4">
              <Search className="size-4.5 shrink-0 text-faint" aria-hidden />
              <Command.Input
                value={typed}
                onValueChange={setTyped}
                placeholder={role === null ? 'Search deals and actions' : 'Search deals, contacts, actions'}
                className="w-full bg-transparent py-3.5 text-md outline-none placeholder:text-faint"
              />
            </div>
            <Found search={search} asking={deals.isFetching || contacts.isFetching} />
            <Command.List className="max-h-[min(26rem,60dvh)] overflow-y-auto p-2">
              <Command.Empty className="px-3 py-8 text-center text-faint">No results for “{typed}”.</Command.Empty>
              {search === '' && places}
              {found.length > 0 && (
                <Command.Group heading={search === '' ? 'Latest deals' : 'Deals'} className={group}>
                  {found.map((deal) => (
                    <Entry
                      key={deal.id}
                      value={`deal ${deal.title} ${deal.industry ?? ''} ${deal.location ?? ''} ${deal.id}`}
                      icon={<Handshake />}
                      onSelect={() => go({ to: '/deals/$dealId', params: { dealId: deal.id } })}
                    >
                      <span className="truncate">{deal.title}</span>
                      <StatePill look={dealStates[deal.state]} />
                    </Entry>
                  ))}
                </Command.Group>
              )}
              {people.length > 0 && (
                <Command.Group heading="Contacts" className={group}>
                  {people.map(({ id, type, display_name, email, phone }) => (
                    <Entry
                      key={id}
                      value={`contact ${display_name} ${email ?? ''} ${phone ?? ''} ${id}`}
                      icon={type === 'company' ? <Building2 /> : <UserRound />}
                      onSelect={() => go({ to: '/contacts', search: { search: display_name, open: id } })}
                    >
                      <span className="truncate">{display_name}</span>
                      <span className="truncate text-sm text-faint">{email ?? phone}</span>
                    </Entry>
                  ))}
                </Command.Group>
              )}
              {search !== '' && places}
              <Command.Group heading="Actions" className={group}>
                {mayOpenDeals && (
                  <Entry
                    value="action new deal open listing"
                    icon={<Plus />}
                    onSelect={() => go({ to: '/deals', search: { new: true } })}
                  >
                    New deal
                  </Entry>
                )}
                {role !== null && (
                  <>
                    <Entry
                      value="action new contact add person company"
                      icon={<Plus />}
                      onSelect={() => go({ to: '/contacts', search: { open: 'new' } })}
                    >
                      New contact
                    </Entry>
                    <Entry
                      value="action import contacts csv file"
                      icon={<Upload />}
                      onSelect={() => go({ to: '/contacts', search: { open: 'import' } })}
                    >
                      Import contacts
                    </Entry>
                  </>
                )}
                <Entry
                  value="action light appearance theme"
                  icon={<Sun />}
                  onSelect={() => (chooseTheme('light'), close())}
                >
                  Light appearance
                </Entry>
                <Entry
                  value="action dark appearance theme"
                  icon={<Moon />}
                  onSelect={() => (chooseTheme('dark'), close())}
                >
                  Dark appearance
                </Entry>
                <Entry
                  value="action device system appearance theme"
                  icon={<Monitor />}
                  onSelect={() => (chooseTheme('system'), close())}
                >
                  Use device appearance
                </Entry>
                <Entry
                  value="action load everything again refresh"
                  icon={<RotateCw />}
                  onSelect={() => (void refreshAll(client), close())}
                >
                  Reload everything
                </Entry>
                <Entry value="action sign out leave log out" icon={<LogOut />} onSelect={() => (close(), void leave())}>
                  Sign out
                </Entry>
              </Command.Group>
            </Command.List>
          </Command>
          {/* Outside of Command, which handles Enter itself. */}
          <Close className="top-2 right-2 coarse:top-1 coarse:right-1" />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
