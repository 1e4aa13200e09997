import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { openDrafts } from '../lib/drafts.ts';
import { goOnAs } from './auth.ts';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Me } from './shapes.ts';

export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: async ({ client, signal }) => {
    const me = await api.get('/web/me', { signal });
    await goOnAs(client, me.user.id, me.csrf);
    openDrafts(me.draft_key);
    return me;
  },
  staleTime: 5 * 60_000,
  gcTime: Infinity,
});

/** The person who is signed in. Within the application's shell somebody always is. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

type Membership = Me['memberships'][number];

const stored = 'dealkeep.brokerage';
const followers = new Set<() => void>();
let chosen: Id | null = readChosen();

function readChosen(): Id | null {
  try {
    return localStorage.getItem(stored);
  } catch {
    return null;
  }
}

/** Switches to another of the person's brokerages, for contacts, settings and new deals. */
export function chooseBrokerage(id: Id): void {
  chosen = id;
  try {
    localStorage.setItem(stored, id);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  for (const follow of followers) follow();
}

/** The person's current brokerage: the chosen one, otherwise their first; null when they are a member of none. */
export function useBrokerage(): Membership | null {
  const id = useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => chosen,
  );
  const { memberships } = useMe();
  return memberships.find((membership) => membership.brokerage_id === id) ?? memberships[0] ?? null;
}

/**
 * The brokerage for the person's new deals: the current one, otherwise the first in which they may open deals; null
 * when they may in none.
 */
export function useBrokerageForNewDeals(): Membership | null {
  const { memberships } = useMe();
  const brokerage = useBrokerage();
  return brokerage?.can_open_deals ? brokerage : (memberships.find((one) => one.can_open_deals) ?? null);
}
