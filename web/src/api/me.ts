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

/** The person who is signed in. Below the application's shell they always are. */
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

/** Works for another of the person's brokerages from now on: in contacts, settings and new deals. */
export function chooseBrokerage(id: Id): void {
  chosen = id;
  try {
    localStorage.setItem(stored, id);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
  for (const follow of followers) follow();
}

/** The brokerage that the person works for now: the chosen one, else their first; null for who is a member of none. */
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

/** The brokerage in which the person would open a deal: the one that they work for, else the first in which they may; null where they may in none. */
export function useBrokerageForNewDeals(): Membership | null {
  const { memberships } = useMe();
  const brokerage = useBrokerage();
  return brokerage?.can_open_deals ? brokerage : (memberships.find((one) => one.can_open_deals) ?? null);
}
