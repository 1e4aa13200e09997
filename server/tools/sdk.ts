/**
 * Answers by the SDK: all messages but plain calls (plain-call.ts). Loaded with the first such message, or shortly
 * after the start: the SDK is a third of the code that is compiled for the server, and commands and starting nodes do
 * not need it.
 */

import {
  classifyInboundRequest,
  createMcpHandler,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Sealer } from '../http/sealed-cursor.ts';
import type { Logger } from '../lib/log.ts';
import { isObject, type RequestContext } from './request-context.ts';
import { methodOf } from './message.ts';
import { openServer } from './server.ts';
import { metaNames, newestVersion } from './versions.ts';
import type { StaticResource } from './views.ts';

// A request ends with its response, so there is nothing left to cancel; within an array, a cancellation would leave the
// call beside it without a response.
const withoutCancelling = (message: unknown): unknown =>
  Array.isArray(message) ? message.filter((one) => methodOf(one) !== 'notifications/cancelled') : message;

const optionalParameters = ['arguments', 'cursor', '_meta'];

/** Returns the message without parameters that may be left out and are null. */
function withoutNulls(message: unknown): unknown {
  if (!isObject(message) || !('params' in message)) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isObject(params) || !optionalParameters.some((name) => params[name] === null)) return message;
  const sent = Object.entries(params).filter(([name, value]) => value !== null || !optionalParameters.includes(name));
  return { ...rest, params: Object.fromEntries(sent) };
}

/**
 * Returns the message without optional parameters that are null, and with an object for the arguments of every call;
 * other arguments are kept aside for the tool to reject. The SDK would answer them with its schema's errors.
 */
function withObjects(given: unknown, context: RequestContext): unknown {
  if (Array.isArray(given)) return given.map((one: unknown) => withObjects(one, context));
  const message = withoutNulls(given);
  if (methodOf(message) !== 'tools/call') return message;
  const call = message as { id?: unknown; params?: unknown };
  const { params } = call;
  if (!isObject(params) || params['arguments'] === undefined || isObject(params['arguments'])) return message;
  context.misfits.set(call.id, params['arguments']);
  return { ...call, params: { ...params, arguments: {} } };
}

// A message that names its protocol revision is of the newer era; only an initialize has to be examined more closely.
// The SDK decides: it classifies every message again when it answers.
function isNewer(message: unknown): boolean {
  const { params } = Object(message) as { params?: Record<string, unknown> | null };
  return Object.hasOwn(Object(params?.['_meta']), metaNames.version) && methodOf(message) !== 'initialize';
}

/**
 * Returns the request with an Accept header that the SDK accepts: it requires both types, although it answers only
 * JSON.
 */
function accepting(request: Request): Request {
  const accept = request.headers.get('accept') ?? '';
  if (accept.includes('application/json') && accept.includes('text/event-stream')) return request;
  const headers = new Headers(request.headers);
  headers.set('Accept', 'application/json, text/event-stream');
  return new Request(request.url, { method: 'POST', headers });
}

async function answerOlder(request: Request, message: unknown, server: Server): Promise<Response> {
  const messages = withoutCancelling(message);
  if (Array.isArray(messages) && messages.length === 0) return new Response(null, { status: 202 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  await server.connect(transport);
  try {
    return await transport.handleRequest(accepting(request), { parsedBody: messages });
  } finally {
    await server.close();
  }
}

/** Whether the SDK classifies this call as one of the newest revision. */
export const isNewest = (call: unknown): boolean =>
  classifyInboundRequest({ httpMethod: 'POST', protocolVersionHeader: newestVersion, body: call }).kind === 'modern';

/** Answers one message, or an array of messages, of `request`. */
export type AnswerBySdk = (request: Request, message: unknown, context: RequestContext) => Promise<Response>;

/**
 * Answers by the SDK. `views` are the resources that display results; `sealerOf` seals the cursors of lists. What the
 * SDK reports besides its answers is logged.
 */
export function openSdk(log: Logger, views: readonly StaticResource[], sealerOf: () => Promise<Sealer>): AnswerBySdk {
  const serverFor = openServer(views, sealerOf);
  const contexts = new WeakMap<Request, RequestContext>();
  const newer = createMcpHandler(
    ({ requestInfo }) => {
      const context = requestInfo && contexts.get(requestInfo);
      if (!context) throw new Error('A request without a context.');
      return serverFor(context);
    },
    { legacy: 'reject', onerror: (error) => log.debug({ reason: error.message }, 'mcp') },
  );
  return async (request, given, context) => {
    const message = withObjects(given, context);
    const older = !isNewer(message) && (await isLegacyRequest(request, message));
    if (older) return answerOlder(request, message, serverFor(context));
    contexts.set(request, context);
    return newer.fetch(request, { parsedBody: message });
  };
}
