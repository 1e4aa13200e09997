/**
 * What the SDK answers: every message but plain calls (plain-call.ts). Loaded with the first of them, or some moments after the start: it is
 * a third of what is compiled for the server, and a command or a node that starts needs none of it.
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

// A request is over with its answer, so there is nothing left to cancel; taken at its word within an array, it would
// leave the call beside it without an answer.
const withoutCancelling = (message: unknown): unknown =>
  Array.isArray(message) ? message.filter((one) => methodOf(one) !== 'notifications/cancelled') : message;

/**
 * The message with every call's arguments an object; those that are none are kept aside, for the tool to refuse. The SDK
 * would answer them with its schema's faults.
 */
function withObjects(message: unknown, context: RequestContext): unknown {
  if (Array.isArray(message)) return message.map((one: unknown) => withObjects(one, context));
  if (methodOf(message) !== 'tools/call') return message;
  const call = message as { id?: unknown; params?: unknown };
  const { params } = call;
  if (!isObject(params) || params['arguments'] === undefined || isObject(params['arguments'])) return message;
  context.misfits.set(call.id, params['arguments']);
  return { ...call, params: { ...params, arguments: {} } };
}

// What names its version in itself is of the newer era; only an initialize must be looked at more closely. The SDK, which
// decides, looks at every message a second time when it answers.
function isNewer(message: unknown): boolean {
  const { params } = Object(message) as { params?: Record<string, unknown> | null };
  return Object.hasOwn(Object(params?.['_meta']), metaNames.version) && methodOf(message) !== 'initialize';
}

/** The request with an Accept that the SDK takes: it insists on both types, although it answers JSON alone. */
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

/** Whether this call is taken for one of the newest revision. */
export const isNewest = (call: unknown): boolean =>
  classifyInboundRequest({ httpMethod: 'POST', protocolVersionHeader: newestVersion, body: call }).kind === 'modern';

/** Answers one message, or an array of them, that came with `request`. */
export type AnswerBySdk = (request: Request, message: unknown, context: RequestContext) => Promise<Response>;

/** Answers by the SDK, with these views of results, and what seals places in lists; what it reports besides its answers goes to the log. */
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
