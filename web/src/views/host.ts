/**
 * A view's side of MCP Apps (SEP-1865, 2026-01-26): JSON-RPC with the host by postMessage. The host's messages update a
 * state that components subscribe to. The extension's own class does the same in half a megabyte.
 */
import { useSyncExternalStore } from 'react';
import { applyTheme, type HostContext } from './theme.ts';
import { wholeNumber } from '../lib/whole-number.ts';

const protocolVersion = '2026-01-26';

/** The result of the tool as the host passes it on; any part may be missing, and none of it is trusted. */
export interface ToolResult {
  readonly isError?: unknown;
  readonly content?: unknown;
  readonly structuredContent?: unknown;
}

export interface HostState {
  /** The arguments of the tool call. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Null until the result has arrived. */
  readonly result: ToolResult | null;
  /** Whether the call was cancelled. */
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

// A view does not know the origin of its host, and sends nothing that did not come from the host.
const send = (message: Message): void => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

/** Sends a request to the host; resolves with an object with `result` or `error`. */
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

/** Requests of the host that get an empty result: the view has nothing to save before it is torn down. */
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

/** Notifies the host of each change of the view's height. */
function followHeight(root: HTMLElement): void {
  let last = 0;
  const observer = new ResizeObserver(() => {
    const { width, height: exact } = root.getBoundingClientRect();
    const height = Math.ceil(exact);
    // A view that the host has hidden has no width.
    if (width === 0 || height === last) return;
    last = height;
    send({ method: 'ui/notifications/size-changed', params: { height } });
  });
  observer.observe(root);
}

/** Connects to the host, and listens to it from then on. */
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

/** Asks the host to open a page; it may refuse. */
export async function openLink(url: string): Promise<void> {
  await ask('ui/open-link', { url });
}

/** Returns the state received from the host, and subscribes to it. */
export function useHostState(): HostState {
  return useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => state,
  );
}
