/**
 * Receives changes from the server, and has the application load what they concern. One tab of a browser holds the
 * connection and passes events on to the others, since a browser opens few connections to one server. While there is no connection,
 * what is shown is asked again every 20 seconds.
 */
import type { QueryClient } from '@tanstack/react-query';
import { shownSince } from './client.ts';
import { refreshActivity } from './deals.ts';
import { refreshAll } from './query-client.ts';
import { keys } from './query-keys.ts';
import { refreshList } from './paged.ts';
import type { LiveEvent } from './shapes.ts';
import { forgetUploads } from './document-uploads.ts';
import { forgetDrafts } from '../lib/drafts.ts';
import { leaveFreely } from '../lib/unsaved.ts';
import { paths } from '../paths.ts';

const pollEvery = 20_000;
/** After how long a connection that was refused is tried again, in milliseconds: twice as long each time, up to the most. */
const reopening = { first: 2_000, most: 60_000 } as const;
/** When everybody gets the event that anything may have changed, the pages ask within so many milliseconds, not all at once. */
const spread = 3_000;

/** What tabs send each other: a change, whether the connection is open, the question whether it is, or that the person has signed out. */
type TabMessage = { event: LiveEvent } | { connected: boolean } | { asking: true } | { signedOut: true };

const anything: LiveEvent = { topic: 'deal', deal_id: null };

const channel = new BroadcastChannel('dealkeep-changes');
/** What other tabs sent before this one follows changes, while its first page is being loaded, and the most of it that is kept. */
const early: LiveEvent[] = [];
const mostEarly = 200;
let receive: ((message: TabMessage) => void) | null = null;
channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  if (receive !== null) receive(data);
  else if ('event' in data && early.length <= mostEarly) early.push(early.length < mostEarly ? data.event : anything);
});

/** Forgets what the person who has just signed out had typed and was uploading, and has the other tabs leave, which still show their pages. */
export function forgetPerson(): void {
  forgetDrafts();
  forgetUploads();
  channel.postMessage({ signedOut: true } satisfies TabMessage);
}

/** Leaves the page after the person has signed out in another tab. Loading it anew, nothing of theirs is left in it. */
function leaveAsWell(): void {
  // Something may have been kept here since the other tab forgot all of it.
  forgetDrafts();
  forgetUploads();
  leaveFreely();
  window.location.assign(paths.signIn);
}

function apply(client: QueryClient, { topic, deal_id: deal }: LiveEvent): void {
  if (topic === 'deal' && deal === null) {
    setTimeout(() => void refreshAll(client), Math.random() * spread);
    return;
  }
  if (topic === 'contacts') {
    void refreshList(client, keys.contacts());
    return;
  }
  if (topic === 'notifications') {
    void refreshList(client, keys.notifications());
    return;
  }
  if (topic === 'settings') {
    void client.invalidateQueries({ queryKey: keys.settings() });
    void client.invalidateQueries({ queryKey: keys.me });
    return;
  }
  void client.invalidateQueries({ queryKey: keys.home });
  void refreshList(client, keys.deals);
  if (deal === null) return;
  // State, people and NDAs decide what else of a deal the caller sees.
  const everything = topic === 'deal' || topic === 'participants' || topic === 'ndas';
  void client.invalidateQueries({ queryKey: keys.deal(deal), exact: !everything });
  if (everything) return;
  void client.invalidateQueries({ queryKey: keys.of(deal, topic) });
  if (topic === 'qoe' || topic === 'financing') void client.invalidateQueries({ queryKey: keys.comparedOffers(deal) });
  void refreshActivity(client, deal);
}

/**
 * Holds a connection until `signal` ends. By it the server first sends what changed since `since`, where that is known. When
 * it breaks, the browser opens it again after the time that the server names, another for each stream. After an answer that is no stream it gives up; then we open again.
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
      // After a connection that was lost everything is asked again.
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

/** Starts following changes for the person who is signed in. Returns how to stop. */
export function followChanges(client: QueryClient): () => void {
  const ended = new AbortController();
  const send = (message: TabMessage) => channel.postMessage(message);
  let connected = false;
  let wasLost = false;
  let holding = false;

  const note = (yes: boolean) => {
    // What happened while there was no connection was not received.
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
    // The tab that held the connection is gone, and no tab has received what happened since.
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
  // Locks exist on secure origins only; elsewhere each tab listens for itself.
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
