import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { ChevronsUpDown, Search } from 'lucide-react';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { whenSessionEnds } from '../api/client.ts';
import { followChanges } from '../api/live.ts';
import { useBrokerage, useMe } from '../api/me.ts';
import { Avatar } from '../components/avatar.tsx';
import { IconButton } from '../components/button.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { cx } from '../lib/cx.ts';
import { focusPlace, placeOf } from '../lib/place.ts';
import { useOpenHere } from '../lib/use-open-here.ts';
import { PortalContainerContext } from '../components/portal-container.tsx';
import { useArrival } from '../components/recent-sign-in.tsx';
import { AccountMenu } from './account-menu.tsx';
import { Bell, useFirstZone } from './bell.tsx';
import { Brand } from './brand.tsx';
import { ConnectionNotice } from './connection-notice.tsx';
import { placesFor } from './navigation.ts';
import { SecondFactorBanner } from './second-factor-banner.tsx';

const CommandPalette = lazyPart(() => import('./command-palette.tsx'));

const SignInAgain = lazyPart(() => import('./sign-in-again.tsx'));

const isMac = navigator.platform.startsWith('Mac');

/** Whether the key is K: in the layouts of other scripts, such as Cyrillic, the one in its place. */
const isK = ({ key, code }: KeyboardEvent): boolean =>
  /^[a-z]$/i.test(key) ? key.toLowerCase() === 'k' : code === 'KeyK';

/** Opens the command palette on Ctrl-K or Cmd-K, unless the page is `veiled`; its code is loaded on first use. */
function usePalette(veiled: boolean) {
  const [open, setOpen] = useOpenHere();
  const [wanted, setWanted] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isK(event) || !(isMac ? event.metaKey : event.ctrlKey) || event.shiftKey) return;
      event.preventDefault();
      if (veiled) return;
      setWanted(true);
      setOpen((before) => !before);
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [veiled, setOpen]);
  return {
    // An open palette is hidden, too: it shows titles of deals.
    open: open && !veiled,
    wanted,
    setOpen: (next: boolean) => {
      setWanted(true);
      setOpen(next);
    },
  };
}

/**
 * Asks the user to sign in over the page when a request finds that the session has ended, unless there is a new session
 * by then: a request sent while the password is being changed is answered for the previous session.
 */
function useSignInAgain() {
  const [asking, setAsking] = useState(false);
  const waiting = useRef<PromiseWithResolvers<boolean> | null>(null);
  const onDone = () => {
    setAsking(false);
    waiting.current?.resolve(true);
    waiting.current = null;
  };
  const arrive = useEffectEvent(useArrival(onDone));
  useEffect(
    () =>
      whenSessionEnds(() => {
        waiting.current ??= Promise.withResolvers<boolean>();
        arrive().catch(() => setAsking(true));
        return waiting.current.promise;
      }),
    [],
  );
  return { asking, onDone };
}

/**
 * When the focused element is removed, such as a button that is no longer needed, moves the focus to the part of the
 * page around it.
 */
function useKeptFocus(main: HTMLElement | null) {
  useEffect(() => {
    if (!main) return;
    let last: HTMLElement[] = [];
    const onFocus = ({ target }: FocusEvent) => {
      last = placeOf(target instanceof HTMLElement ? target : null);
    };
    // A click on the background removes the focus though the element stays.
    const onPointer = () => setTimeout(() => document.activeElement === document.body && (last = []));
    const watch = new MutationObserver(() => {
      if (last.length === 0 || last[0]!.isConnected || document.activeElement !== document.body) return;
      focusPlace(last);
    });
    main.addEventListener('focusin', onFocus);
    document.addEventListener('pointerup', onPointer);
    watch.observe(main, { childList: true, subtree: true });
    return () => {
      main.removeEventListener('focusin', onFocus);
      document.removeEventListener('pointerup', onPointer);
      watch.disconnect();
    };
  }, [main]);
}

/**
 * Returns the main element and its ref. After navigation to another page the element is focused, unless the focus is
 * still inside it.
 */
function useMain() {
  const [main, setMain] = useState<HTMLElement | null>(null);
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    if (main && before.current !== undefined && before.current !== path && !main.contains(document.activeElement)) {
      main.focus({ preventScroll: true });
    }
    before.current = path;
  }, [main, path]);
  return [main, setMain] as const;
}

function Sidebar({ onSearch }: { onSearch: () => void }) {
  const me = useMe();
  const brokerage = useBrokerage();
  return (
    <header className="fixed inset-y-0 left-0 hidden w-60 flex-col border-r border-line bg-sunken lg:flex">
      <div className="mx-3 mt-4 mb-4 flex items-center justify-between gap-2">
        <Link to="/" aria-label="Dealkeep, home" className="rounded-md px-2 py-1">
          <Brand />
        </Link>
        <Bell />
      </div>
      <button
        type="button"
        onClick={onSearch}
        className="mx-3 mb-4 flex items-center gap-2 rounded-md border border-line bg-surface px-2.5 py-1.5 text-left text-faint shadow-1 hover:border-edge hover:text-soft"
      >
        <Search className="size-4" aria-hidden />
        <span className="flex-1">Go to…</span>
        <kbd className="rounded-sm border border-line px-1.5 font-sans text-xs">{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <nav aria-label="Main" className="flex flex-col gap-0.5 px-3">
        {placesFor(me).map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === '/' }}
            className={cx(
              'flex items-center gap-2.5 rounded-md px-2.5 py-2 font-medium transition-colors',
              'not-data-[status=active]:text-soft not-data-[status=active]:hover:bg-hover not-data-[status=active]:hover:text-ink',
              'data-[status=active]:bg-accent-wash data-[status=active]:text-accent-ink',
            )}
          >
            <Icon className="size-4.5" strokeWidth={1.9} aria-hidden />
            {label}
          </Link>
        ))}
      </nav>
      <div className="mt-auto border-t border-line p-3">
        <AccountMenu
          side="top"
          trigger={
            <button
              type="button"
              className="flex w-full items-center gap-2.5 rounded-md px-2 py-1.5 text-left hover:bg-hover"
            >
              <Avatar name={me.user.name} />
              <span className="min-w-0 flex-1">
                <span className="block truncate font-medium">{me.user.name}</span>
                <span className="block truncate text-sm text-faint">{brokerage?.brokerage_name ?? me.user.email}</span>
              </span>
              <ChevronsUpDown className="size-4 shrink-0 text-faint" aria-hidden />
            </button>
          }
        />
      </div>
    </header>
  );
}

function TopBar({ onSearch }: { onSearch: () => void }) {
  const { user } = useMe();
  return (
    <header className="sticky top-0 z-20 flex h-14 items-center gap-1 border-b border-line bg-paper/92 px-4 backdrop-blur-md tight:gap-0 tight:px-2 lg:hidden">
      <Link to="/" aria-label="Dealkeep, home" className="mr-auto rounded-md coarse:py-2">
        <Brand />
      </Link>
      <Bell />
      <IconButton label="Go to…" icon={<Search className="size-5" />} onClick={onSearch} />
      <AccountMenu
        side="bottom"
        trigger={
          <button type="button" aria-label="Your account" className="grid size-11 place-items-center rounded-full">
            <Avatar name={user.name} />
          </button>
        }
      />
    </header>
  );
}

function BottomBar() {
  const me = useMe();
  return (
    <nav
      aria-label="Main"
      className={cx(
        'fixed inset-x-0 bottom-0 z-20 flex border-t border-line bg-surface/95 pb-[env(safe-area-inset-bottom)] backdrop-blur-md lg:hidden',
        // Between a keyboard and the field typed in there is no room for it.
        'low:coarse:[:root:has(:is(input,textarea):focus)_&]:hidden',
      )}
    >
      {placesFor(me).map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === '/' }}
          className="flex min-h-14 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-xs font-medium -outline-offset-2 not-data-[status=active]:text-faint data-[status=active]:text-accent-ink"
        >
          <Icon className="size-5" strokeWidth={1.9} aria-hidden />
          <span className="max-w-full truncate">{label}</span>
        </Link>
      ))}
    </nav>
  );
}

/** The layout of every page of a signed-in user: sidebar or bars, the command palette, and the live connection. */
export function AppShell() {
  const client = useQueryClient();
  const { asking, onDone } = useSignInAgain();
  const palette = usePalette(asking);
  const [main, setMain] = useMain();
  useKeptFocus(main);
  // Not in the bell, which is rendered twice, in the sidebar and in the top bar.
  useFirstZone();
  useEffect(() => followChanges(client), [client]);
  return (
    <PortalContainerContext value={main}>
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-ink px-4 py-2 text-paper focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        Skip to main content
      </a>
      <Sidebar onSearch={() => palette.setOpen(true)} />
      <TopBar onSearch={() => palette.setOpen(true)} />
      <main
        id="main"
        ref={setMain}
        tabIndex={-1}
        className="mx-auto max-w-400 px-4 pt-5 pb-[calc(5.5rem+env(safe-area-inset-bottom))] sm:px-6 lg:ml-60 lg:px-9 lg:pt-8 lg:pb-14"
      >
        <SecondFactorBanner />
        <Outlet />
        <ConnectionNotice />
      </main>
      <BottomBar />
      {asking && <SignInAgain onDone={onDone} />}
      {palette.wanted && <CommandPalette open={palette.open} onOpenChange={palette.setOpen} />}
    </PortalContainerContext>
  );
}
