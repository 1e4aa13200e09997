/**
 * A view's side of MCP Apps (SEP-1865, 2026-01-26): JSON-RPC with the host by postMessage. What the host says is kept, and
 * components follow it. The extension's own class does the same in half a megabyte.
 */
import { useSyncExternalStore } from 'react';
import { applyTheme, type HostContext } from './theme.ts';
import { wholeNumber } from '../lib/whole-number.ts';

const protocolVersion = '2026-01-26';

/** The result of the tool as the host passes it on; any part may be missing, and nothing of it is to be trusted. */
export interface ToolResult {
  readonly isError?: unknown;
  readonly content?: unknown;
  readonly structuredContent?: unknown;
}

export interface HostState {
  /** What the tool was called with. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Null until it is there. */
  readonly result: ToolResult | null;
  /** The call was given up. */
  readonly cancelled: boolean;
  /** Whether the host opens links. */
  readonly opensLinks: boolean;
}

type Message = Readonly<Record<string, unknown>>;

let state: HostState = { input: {}, result: null, cancelled: false, opensLinks: false };
const followers = new Set<() => void>();
const waiting = new Map<number, (answer: Message) => void>();
let asked = 0;

function update(news: Partial<HostState>): void {
  state = { ...state, ...news };
  for (const follow of followers) follow();
}

/** Whether a value of a message is an object. */
export const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Message => (isObject(value) ? value : {});

// A view does not know the origin of its host, and sends it nothing that the host has not sent.
const send = (message: Message): void => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

/** Asks the host; the answer is an object with `result` or `error`. */
function ask(method: string, params: Message): Promise<Message> {
  asked += 1;
  const id = asked;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    send({ id, method, params });
  });
}

const notices: Readonly<Record<string, (params: Message) => void>> = {
  'ui/notifications/tool-input': (params) => update({ input: objectOf(params['arguments']) }),
  'ui/notifications/tool-result': (params) => update({ result: params, cancelled: false }),
  'ui/notifications/tool-cancelled': () => update({ cancelled: true }),
  'ui/notifications/host-context-changed': (params) => applyTheme(params as HostContext),
};

/** Requests of the host: there is nothing to save before the view is taken down. */
const answered = new Set(['ping', 'ui/resource-teardown']);

function receive({ source, data }: MessageEvent): void {
  if (source !== window.parent || !isObject(data) || data['jsonrpc'] !== '2.0') return;
  const { id, method } = data;
  if (typeof method !== 'string') {
    waiting.get(wholeNumber(id))?.(data);
    waiting.delete(wholeNumber(id));
  } else if (id === undefined) {
    notices[method]?.(objectOf(data['params']));
  } else {
    send(answered.has(method) ? { id, result: {} } : { id, error: { code: -32601, message: 'Method not found' } });
  }
}

/** Sends the host each change of the view's height. */
function followHeight(root: HTMLElement): void {
  let last = 0;
  const observer = new ResizeObserver(() => {
    const { width, height: exact } = root.getBoundingClientRect();
    const height = Math.ceil(exact);
    // A host that hides the view leaves it no width.
    if (width === 0 || height === last) return;
    last = height;
    send({ method: 'ui/notifications/size-changed', params: { height } });
  });
  observer.observe(root);
}

/** Makes itself known to the host, and listens to it from then on. */
export async function connect(root: HTMLElement): Promise<void> {
  window.addEventListener('message', receive);
  const answer = await ask('ui/initialize', {
    protocolVersion,
    appInfo: { name: 'dealkeep', version: '1' },
    appCapabilities: {},
  });
  const { hostContext, hostCapabilities } = objectOf(answer['result']);
  applyTheme(objectOf(hostContext));
  update({ opensLinks: isObject(objectOf(hostCapabilities)['openLinks']) });
  send({ method: 'ui/notifications/initialized', params: {} });
  followHeight(root);
}

/** Has the host open a page; it may refuse. */
export async function openLink(url: string): Promise<void> {
  await ask('ui/open-link', { url });
}

/** What the host has sent so far, followed. */
export function useHostState(): HostState {
  return useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => state,
  );
}
