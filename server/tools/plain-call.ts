/**
 * Calls in the form that nearly all have: one message that calls a reading tool, in the plainest form of the protocol.
 * They are answered without a server of the SDK: creating, connecting and closing one, and validating the message
 * against several schemas, takes longer than the rest of the call. A call in any other form goes to the SDK. Only
 * messages that the SDK would accept are recognized here, and the answer is identical to the SDK's:
 * test/tools/messages.test.ts compares the two.
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

interface PlainCall extends ToolCall {
  readonly id: string | number;
  /** Whether it uses the newest protocol revision, without sessions. */
  readonly isNewer: boolean;
}

const partsOfMessage = new Set(['jsonrpc', 'id', 'method', 'params']);
const partsOfCall = new Set(['name', 'arguments', '_meta']);
/** Prefix of the names in `_meta` that are defined by the protocol. */
const ofProtocol = 'io.modelcontextprotocol/';
const envelopeNames = new Set<string>([metaNames.version, metaNames.capabilities, metaNames.client]);

const hasOnly = (value: Json, names: ReadonlySet<string>): boolean =>
  Object.keys(value).every((name) => names.has(name));

const isId = (value: unknown): value is string | number => typeof value === 'string' || Number.isSafeInteger(value);

/** The protocol's entries in `_meta`, as text; '' without any, null when one is unknown here. */
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

/** Maximum number of remembered envelopes, and the longest one in characters. */
const mostEnvelopes = 500;
const longestEnvelope = 2_000;

/** Reads a request header; null or undefined when it was not sent. */
type HeaderOf = (name: string) => string | null | undefined;

/** Recognizes plain calls: returns null for messages that the SDK has to answer. */
function plainCalls(): (header: HeaderOf, message: unknown) => PlainCall | null {
  // Clients send the same envelope with every message: the SDK checks each once. While the SDK is not loaded, the whole
  // call goes to it.
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

/** Writes answers to plain calls as JSON; `baseUrl` is the server's public origin. */
function plainAnswers(baseUrl: string): (call: PlainCall, result: CallToolResult) => string {
  const serverInfo = JSON.stringify({ [metaNames.server]: { ...identity, icons: iconsOf(baseUrl) } });
  const complete = `,"resultType":"complete","_meta":${serverInfo}`;
  return ({ id, isNewer }, result) =>
    `{"result":{${resultText(result)}${isNewer ? complete : ''}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
}

/** Recognizes plain calls and writes their answers. */
export interface PlainCalls {
  readonly plainCall: ReturnType<typeof plainCalls>;
  readonly plainAnswer: ReturnType<typeof plainAnswers>;
}

/** Recognizer and writer of plain calls; `baseUrl` is the server's public origin. */
export const openPlainCalls = (baseUrl: string): PlainCalls => ({
  plainCall: plainCalls(),
  plainAnswer: plainAnswers(baseUrl),
});
