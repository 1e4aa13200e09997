/**
 * The tool server: MCP over Streamable HTTP at /api/mcp and, identically, at /mcp (specification, sections 4.3 and
 * 5.2).
 */

import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import type { Services } from '../services.ts';
import type { TakenDocuments } from '../domain/clients/connected-clients.ts';
import type { DirectAnswers } from '../http/direct-answers.ts';
import { bearerToken } from '../http/bearer-token.ts';
import { originOf } from '../http/origin.ts';
import { Problem, reported } from '../http/problem.ts';
import { resourcePaths, spellingsOf, type CalledPath } from '../http/resource-metadata.ts';
import { admit, badToken, checkDocument, checkLookUps, countAsked, presentedDigest, type Asked } from './admission.ts';
import { deploymentSealer } from '../http/sealed-cursor.ts';
import { openTokenHolders } from '../http/token-holder-cache.ts';
import { openDirectCalls } from './direct-calls.ts';
import { openRequestContext, type RequestContext, type Holder } from './request-context.ts';
import { checkAccept, idOf, methodOf, readMessage } from './message.ts';
import { corsHeaders, originCheck, preflightHeaders } from './origins.ts';
import { openPlainCalls } from './plain-call.ts';
import { openProtocol } from './protocol.ts';
import { cardPaths, serveCard } from './server-card.ts';
import { writeRpcError } from './rpc-error.ts';
import { readViews } from './views.ts';

/** What is known of a request when it fails. */
interface Progress {
  message: unknown;
}

interface Answered {
  readonly response: Response | string;
  readonly limits: Readonly<Record<string, string>>;
}

const everyAnswer = { 'Cache-Control': 'no-store', Vary: 'Origin' };

function withHeaders(answer: Response | string, ...headers: Readonly<Record<string, string>>[]): Response {
  // Nearly all responses are text: with plain headers they are sent without creating a web Headers object.
  if (typeof answer === 'string')
    return new Response(answer, { headers: Object.assign({ 'Content-Type': 'application/json' }, ...headers) });
  const { headers: all } = answer;
  for (const some of headers) for (const [name, value] of Object.entries(some)) all.set(name, value);
  return answer;
}

const forbidden = (): Problem =>
  new Problem(
    403,
    'forbidden',
    'Pages of this origin may not call the tool server: its operator can allow the origin (ALLOWED_ORIGINS).',
  );

/** Methods whose requests query the database for more than the token. */
const calls = new Set(['tools/call', 'resources/list', 'resources/read', 'completion/complete']);

/** How many calls and other messages a request contains: each message of an array counts. */
function askedIn(message: unknown): Asked {
  const messages: unknown[] = Array.isArray(message) ? message : [message];
  const asked = messages.filter((one) => calls.has(methodOf(one) ?? '')).length;
  return { calls: asked, others: messages.length - asked };
}

const isOrigin = (path: CalledPath): boolean => path === '';
const calledPaths = resourcePaths.flatMap(spellingsOf);

/** The paths at which only the tool server answers: the origin itself is also the home page. */
export const toolServerPaths: readonly string[] = [...calledPaths.filter((path) => !isOrigin(path)), ...cardPaths];

/**
 * Whether a request to the origin is for the tool server: a browser gets the home page, a client of 2025 requests an
 * event stream.
 */
function isForTools(c: Context): boolean {
  if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return true;
  const accept = c.req.header('accept') ?? '';
  return accept.includes('text/event-stream') && !accept.includes('text/html');
}

/** The routes, and the direct answers to the most frequent requests, which are tried before them. */
export interface ToolServer {
  readonly routes: Hono;
  readonly direct: DirectAnswers;
}

/**
 * Mount at the root, after the request id and the client's address are set. `isTaken`: which clients by their document
 * are accepted.
 */
export function toolServerRoutes(services: Services, isTaken: TakenDocuments): ToolServer {
  const { config, log } = services;
  const mayCall = originCheck(config.baseUrl, config.allowedOrigins);
  const plainCalls = openPlainCalls(config.baseUrl);
  const protocol = openProtocol(log, readViews(config.baseUrl), deploymentSealer(services), plainCalls);
  const holders = openTokenHolders<Holder>();
  const direct = openDirectCalls(services, holders, plainCalls, everyAnswer);
  const begunBefore = (c: Context) => direct.begunWith((c.env as Partial<HttpBindings>).incoming);

  async function holderOf(c: Context, context: RequestContext, digest: Buffer, path: CalledPath): Promise<Holder> {
    const known = holders.get(digest);
    if (known) return known;
    await checkLookUps(services, c);
    const { user_id: userId, client_id: clientId, scopes } = await admit(context, path);
    if (isTaken) await checkDocument(context, path, isTaken);
    const holder = { userId, clientId, scopes };
    holders.set(digest, holder);
    return holder;
  }

  /** Checks whether the request can be answered at all. Throws problems of 403, 405 and 406. */
  function checkRequest(c: Context, origin: string | undefined): void {
    if (origin !== undefined && !mayCall(origin)) throw forbidden();
    if (c.req.method !== 'POST')
      throw new Problem(405, 'method_not_allowed', 'Use POST: this server has no streams or sessions.', {
        headers: { Allow: 'POST' },
      });
    checkAccept(c);
  }

  /**
   * The message of a request. A request without a readable message counts against the limit like a message that is no
   * call. Throws problems.
   */
  async function messageOf(c: Context, holder: Holder): Promise<unknown> {
    try {
      checkRequest(c, c.req.header('origin'));
      return await readMessage(c);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, code, message, headers } = error;
      const limits = await countAsked(services, holder, { calls: 0, others: 1 });
      throw new Problem(status, code, message, { headers: { ...headers, ...limits } });
    }
  }

  /** The response to the holder of a token, with the rate-limit headers. Throws problems. */
  async function answerHolder(
    c: Context,
    path: CalledPath,
    context: RequestContext,
    holder: Holder,
    progress: Progress,
  ): Promise<Answered> {
    const begun = begunBefore(c);
    progress.message = begun?.message ?? (await messageOf(c, holder));
    const limits = await (begun?.limits ?? countAsked(services, holder, askedIn(progress.message)));
    const response = await (begun?.response ?? protocol(c.req.raw, progress.message, context));
    // A tool call has already entered with the token. Responses that involve no tool contain nothing secret, but are
    // sent only to valid tokens.
    await admit(context, path).catch(async (fault: unknown) => {
      if (typeof response !== 'string') await response.body?.cancel();
      throw fault;
    });
    return { response, limits };
  }

  /**
   * The response to any method but OPTIONS. Throws problems; an error of the token takes precedence over all others.
   */
  async function answer(c: Context, path: CalledPath, progress: Progress): Promise<Answered> {
    const digest = presentedDigest(c, services, path);
    const context =
      begunBefore(c)?.context ??
      openRequestContext(services, digest, originOf(c), c.req.header('mcp-protocol-version'));
    const holder = await holderOf(c, context, digest, path);
    context.holder = holder;
    try {
      return await answerHolder(c, path, context, holder, progress);
    } catch (error) {
      // The holder may come from the cache, so the token is checked before another error is reported. Above the rate
      // limit, the database is not queried.
      if (error instanceof Problem && error.status !== 429) await admit(context, path);
      throw error;
    } finally {
      if (context.caller === null) holders.forget(digest);
    }
  }

  const serve =
    (path: CalledPath) =>
    async (c: Context): Promise<Response> => {
      const progress: Progress = { message: null };
      const origin = c.req.header('origin');
      const allowed = origin !== undefined && mayCall(origin) ? corsHeaders(origin) : {};
      try {
        if (c.req.method === 'OPTIONS') {
          // A browser sends preflight requests without the token.
          if (origin !== undefined && !mayCall(origin)) throw forbidden();
          const headers = preflightHeaders(c.req.header('access-control-request-headers'));
          return withHeaders(new Response(null, { status: 204 }), everyAnswer, allowed, headers);
        }
        const { response, limits } = await answer(c, path, progress).catch(async (fault: unknown) => {
          // A request without a token is only told where to get one, without a look-up in the database.
          const isBadToken = fault instanceof Problem && fault.status === 401 && Boolean(bearerToken(c));
          throw isBadToken ? await badToken(services, c, fault) : fault;
        });
        return withHeaders(response, limits, everyAnswer, allowed);
      } catch (error) {
        const answered = writeRpcError(c, reported(error, c, log), idOf(progress.message));
        return withHeaders(answered, everyAnswer, allowed);
      }
    };

  const routes = new Hono();
  serveCard(routes, config.baseUrl);
  for (const path of calledPaths) {
    const answered = serve(path);
    if (isOrigin(path)) routes.all('/', (c, next) => (isForTools(c) ? answered(c) : next()));
    else routes.all(path, answered);
  }
  return { routes, direct: direct.answers };
}
