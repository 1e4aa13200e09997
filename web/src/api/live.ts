/**
 * Receives change events from the server and refetches the data that they concern. Only one tab of a browser holds the
 * connection and passes the events on to the others, since browsers open few connections to one server. While there is
 * no connection, everything shown is refetched every 20 seconds.
 */
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { shownSince } from './client.ts';
import { refreshActivity } from './deals.ts';
import { allButVisits, refreshAll } from './query-client.ts';
import { keys } from './query-keys.ts';
import { refresh } from './refresh.ts';
import type { LiveEvent } from './shapes.ts';
import { forgetUploads } from './document-uploads.ts';
import { forgetDrafts } from '../lib/drafts.ts';
import { leaveFreely } from '../lib/unsaved.ts';
import { paths } from '../paths.ts';

const pollEvery = 20_000;
/**
 * Milliseconds before a rejected connection is reopened: doubled after each rejection, up to `most`, then varied at
 * random by half.
 */
const reopening = { first: 2_000, most: 60_000 } as const;
/**
 * When all clients are notified that anything may have changed, each refetches after a random delay of at most this
 * many milliseconds, not all at once.
 */
const spread = 3_000;

/**
 * A message between tabs: an event, whether the connection is open, the question whether it is, or that the person has
 * signed out.
 */
type TabMessage = { event: LiveEvent } | { connected: boolean } | { asking: true } | { signedOut: true };

const anything: LiveEvent = { topic: 'deal', deal_id: null };

const channel = new BroadcastChannel('dealkeep-changes');
/**
 * Events from other tabs that arrived before this one follows changes, while its first page was loading, and how many
 * of them are kept.
 */
const early: LiveEvent[] = [];
const mostEarly = 200;
let receive: ((message: TabMessage) => void) | null = null;
channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  if (receive !== null) receive(data);
  else if ('event' in data && early.length <= mostEarly) early.push(early.length < mostEarly ? data.event : anything);
});

/**
 * Deletes the drafts and uploads of the person who has just signed out, and has the other tabs, which still show their
 * pages, leave.
 */
export function forgetPerson(): void {
  forgetDrafts();
  forgetUploads();
  channel.postMessage({ signedOut: true } satisfies TabMessage);
}

/**
 * Leaves the page after the person has signed out in another tab. Nothing of theirs is left in memory once the sign-in
 * page is loaded.
 */
function leaveAsWell(): void {
  // This tab may have stored something after the other tab deleted everything.
  forgetDrafts();
  forgetUploads();
  leaveFreely();
  window.location.assign(paths.signIn);
}

function apply(client: QueryClient, { topic, deal_id: deal }: LiveEvent): void {
  const changed = (queryKey: QueryKey, exact = false) => void refresh(client, { queryKey, exact });
  if (topic === 'deal' && deal === null) {
    setTimeout(() => void refresh(client, allButVisits), Math.random() * spread);
    return;
  }
  if (topic === 'contacts') return changed(keys.contacts());
  if (topic === 'notifications') return changed(keys.notifications());
  if (topic === 'settings') {
    changed(keys.settings());
    changed(keys.me);
    return;
  }
  changed(keys.home);
  changed(keys.deals);
  if (deal === null) return;
  // The deal's state, its participants and NDAs decide what else of the deal the caller sees.
  const everything = topic === 'deal' || topic === 'participants' || topic === 'ndas';
  changed(keys.deal(deal), !everything);
  if (everything) return;
  changed(keys.of(deal, topic));
  if (topic === 'qoe' || topic === 'financing') changed(keys.comparedOffers(deal));
  void refreshActivity(client, deal);
}

/**
 * Holds a connection until `signal` is aborted. The server first sends what has changed since `since`, when that is
 * known. When the connection breaks, the browser reopens it after a delay that the server sets, different for each
 * stream. After a response that is not an event stream the browser gives up; the connection is then reopened here.
 */
function listen(
  signal: AbortSignal,
  since: number | null,
  onEvent: (event: LiveEvent) => void,
  onConnected: (connected: boolean) => void,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let source: EventSource;
  let again: ReturnType<typeof setTimeout> | undefined;
  let refusals = 0;
  let from = since;
  const open = () => {
    source = new EventSource(`/api/web/events${from === null ? '' : `?since=${from}`}`);
    source.addEventListener('open', () => {
      refusals = 0;
      // After a lost connection everything is refetched, so `since` is not needed again.
      from = null;
      onConnected(true);
    });
    source.addEventListener('message', (message: MessageEvent<string>) =>
      onEvent(JSON.parse(message.data) as LiveEvent),
    );
    source.addEventListener('error', () => {
      onConnected(false);
      if (source.readyState !== EventSource.CLOSED) return;
      const wait = Math.min(reopening.first * 2 ** refusals, reopening.most);
      refusals += 1;
      again = setTimeout(open, wait * (0.5 + Math.random()));
    });
  };
  open();
  signal.addEventListener('abort', () => {
    clearTimeout(again);
    source.close();
    resolve();
  });
  return promise;
}

/** Starts following changes for the person who is signed in. Returns a function that stops it. */
export function followChanges(client: QueryClient): () => void {
  const ended = new AbortController();
  const send = (message: TabMessage) => channel.postMessage(message);
  let connected = false;
  let wasLost = false;
  let holding = false;

  const note = (yes: boolean) => {
    // Events during the time without a connection were not received.
    if (yes && wasLost) void refreshAll(client);
    wasLost = !yes;
    connected = yes;
  };
  const handle = (message: TabMessage) => {
    if ('event' in message) apply(client, message.event);
    else if ('connected' in message) note(message.connected);
    else if ('signedOut' in message) leaveAsWell();
    else if (holding) send({ connected });
  };
  receive = handle;
  for (const event of early.splice(0)) apply(client, event);
  send({ asking: true });

  const noteForAll = (yes: boolean) => {
    note(yes);
    send({ connected: yes });
  };
  const hold = () => {
    holding = true;
    // The tab that held the connection is gone, and no tab has received the events since.
    if (connected) noteForAll(false);
    return listen(
      ended.signal,
      wasLost ? null : shownSince(),
      (event) => {
        apply(client, event);
        send({ event });
      },
      noteForAll,
    );
  };
  // Web Locks exist on secure origins only; elsewhere each tab holds a connection of its own.
  const held =
    'locks' in navigator ? navigator.locks.request('dealkeep-changes', { signal: ended.signal }, hold) : hold();
  held.catch((fault: unknown) => {
    if (!ended.signal.aborted) throw fault;
  });

  const poll = setInterval(() => {
    if (!connected && !document.hidden) void refreshAll(client);
  }, pollEvery);

  return () => {
    ended.abort();
    clearInterval(poll);
    if (receive === handle) receive = null;
  };
}
