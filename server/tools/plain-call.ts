/**
 * Calls as nearly all of them come: one message that calls a tool that reads, in the plainest form that the protocol has. They are
 * answered without a server of the SDK, which takes longer to make, connect and close, and to hold the message against one schema
 * after the other, than the rest of the call takes. A call that is written in any other way goes to the SDK. What is distinguished here is
 * only what that would take as it is, and the answer is the one that it would write: test/tools/messages.test.ts compares the two.
 */

import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ToolCall } from './call.ts';
import { toolNamed } from './catalog/index.ts';
import { isObject } from './request-context.ts';
import { iconsOf, identity } from './identity.ts';
import { loadedSdk } from './load-sdk.ts';
import { resultText } from './results.ts';
import { initializedVersions, metaNames, newestVersion } from './versions.ts';

type Json = Readonly<Record<string, unknown>>;

/** A call that is answered here. */
interface PlainCall extends ToolCall {
  readonly id: string | number;
  /** Whether it came in the revision of the protocol that has no sessions. */
  readonly isNewer: boolean;
}

const partsOfMessage = new Set(['jsonrpc', 'id', 'method', 'params']);
const partsOfCall = new Set(['name', 'arguments', '_meta']);
/** What the names in `_meta` begin with that mean something to the protocol. */
const ofProtocol = 'io.modelcontextprotocol/';
const envelopeNames = new Set<string>([metaNames.version, metaNames.capabilities, metaNames.client]);

const hasOnly = (value: Json, names: ReadonlySet<string>): boolean =>
  Object.keys(value).every((name) => names.has(name));

const isId = (value: unknown): value is string | number => typeof value === 'string' || Number.isSafeInteger(value);

/** What `_meta` says of the protocol, as text; '' when it says nothing, null when it says what is not known here. */
function envelopeIn(meta: Json): string | null {
  if (meta['progressToken'] !== undefined && !isId(meta['progressToken'])) return null;
  let text = '';
  for (const name of Object.keys(meta)) {
    if (name === '__proto__') return null;
    if (!name.startsWith(ofProtocol)) continue;
    if (!envelopeNames.has(name)) return null;
    text += `${name} ${JSON.stringify(meta[name])}\n`;
  }
  return text;
}

/** The most envelopes that are remembered, and the longest. */
const mostEnvelopes = 500;
const longestEnvelope = 2_000;

/** The value of a header of a request; null or undefined where it was not sent. */
type HeaderOf = (name: string) => string | null | undefined;

/** Recognizes plain calls: null for what is to be answered by the SDK. */
function plainCalls(): (header: HeaderOf, message: unknown) => PlainCall | null {
  // Clients send the same with every message: each is looked at once, by the SDK, to which a call goes whole while it is not loaded.
  const good = new Set<string>();

  function isGood(envelope: string, call: unknown): boolean {
    if (envelope.length > longestEnvelope) return false;
    if (good.has(envelope)) return true;
    if (!loadedSdk()?.isNewest(call)) return false;
    const [eldest] = good;
    if (good.size >= mostEnvelopes && eldest !== undefined) good.delete(eldest);
    good.add(envelope);
    return true;
  }

  return (header, message) => {
    if (!isObject(message) || !hasOnly(message, partsOfMessage)) return null;
    const { jsonrpc, id, method, params } = message;
    if (jsonrpc !== '2.0' || method !== 'tools/call' || !isId(id) || !isObject(params)) return null;
    const { name, arguments: given = {}, _meta: meta = {} } = params;
    if (typeof name !== 'string' || !isObject(meta) || !hasOnly(params, partsOfCall)) return null;
    const tool = toolNamed(name);
    if (tool?.scope !== 'mcp:read' || tool.hasLinks) return null;
    if (isObject(given) && Object.hasOwn(given, '__proto__')) return null;
    const envelope = envelopeIn(meta);
    if (envelope === null) return null;
    const revision = header('mcp-protocol-version') ?? null;
    if (envelope === '') {
      const isOlder = revision === null || initializedVersions.includes(revision);
      return isOlder ? { id, tool, given, meta, isNewer: false } : null;
    }
    const isNewer =
      revision === newestVersion &&
      meta[metaNames.version] === newestVersion &&
      header('mcp-method') === method &&
      header('mcp-name') === name &&
      isGood(envelope, message);
    return isNewer ? { id, tool, given, meta, isNewer } : null;
  };
}

/** Writes answers to plain calls, as JSON, of the server whose public origin is `baseUrl`. */
function plainAnswers(baseUrl: string): (call: PlainCall, result: CallToolResult) => string {
  const serverInfo = JSON.stringify({ [metaNames.server]: { ...identity, icons: iconsOf(baseUrl) } });
  const complete = `,"resultType":"complete","_meta":${serverInfo}`;
  return ({ id, isNewer }, result) =>
    `{"result":{${resultText(result)}${isNewer ? complete : ''}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
}

/** What recognizes plain calls, and what writes their answers. */
export interface PlainCalls {
  readonly plainCall: ReturnType<typeof plainCalls>;
  readonly plainAnswer: ReturnType<typeof plainAnswers>;
}

/** Both of them, of the server whose public origin is `baseUrl`. */
export const openPlainCalls = (baseUrl: string): PlainCalls => ({
  plainCall: plainCalls(),
  plainAnswer: plainAnswers(baseUrl),
});
