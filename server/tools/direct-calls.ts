/** Answers plain calls (plain-call.ts) with Node.js's own request and response when nothing prevents it. */

import type { IncomingMessage } from 'node:http';
import type { Services } from '../services.ts';
import { accessTokenDigest } from '../domain/clients/tokens.ts';
import { bearerIn } from '../http/bearer-token.ts';
import { textOf } from '../http/bounded-body.ts';
import { bodyOf, type DirectAnswers } from '../http/direct-answers.ts';
import { resourcePaths } from '../http/resource-metadata.ts';
import type { TokenHolders } from '../http/token-holder-cache.ts';
import { countAsked } from './admission.ts';
import { callTool } from './call.ts';
import { openRequestContext, type RequestContext, type Holder } from './request-context.ts';
import { largestBody, takesJson, valueOf } from './message.ts';
import type { PlainCalls } from './plain-call.ts';

/** A call that was begun here and that the routes continue: its fields are not computed again. */
interface BegunCall {
  readonly context: RequestContext;
  readonly message: unknown;
  readonly limits: Promise<Readonly<Record<string, string>>>;
  /** Set once the tool runs; it runs only once. */
  response?: Promise<string>;
}

const paths: ReadonlySet<string> = new Set(resourcePaths.filter((path) => path !== ''));

/** Whether Content-Type and Authorization were each sent once: of repeated ones, Node.js returns the first. */
function areSingle({ rawHeaders }: IncomingMessage): boolean {
  let found = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const { length } = rawHeaders[at] ?? '';
    if ((length === 12 || length === 13) && /^(content-type|authorization)$/i.test(rawHeaders[at] ?? '')) found += 1;
  }
  return found === 2;
}

function takes(request: IncomingMessage): boolean {
  const { method, url = '', headers } = request;
  if (method !== 'POST' || !paths.has(url) || headers.origin !== undefined) return false;
  const length = Number(headers['content-length'] ?? Infinity);
  return (
    headers['content-type'] === 'application/json' &&
    length <= largestBody &&
    takesJson(headers.accept) &&
    areSingle(request)
  );
}

/**
 * The direct answers to plain calls, and the begun calls that the routes have to continue. `everyAnswer`: headers of
 * every answer.
 */
export function openDirectCalls(
  services: Services,
  holders: TokenHolders<Holder>,
  { plainCall, plainAnswer }: PlainCalls,
  everyAnswer: Readonly<Record<string, string>>,
) {
  const begun = new WeakMap<object, BegunCall>();
  const answers: DirectAnswers = {
    takes,
    async answer(request, from) {
      const { headers } = request;
      const digest = accessTokenDigest(bearerIn(headers.authorization ?? ''));
      // The holder of a token that is not cached is looked up by the routes.
      const holder = digest && holders.get(digest);
      if (!digest || !holder) return null;
      const body = await bodyOf(request);
      const text = body && textOf(body);
      const message = text === null ? undefined : valueOf(text);
      const plain = plainCall((name) => headers[name]?.toString(), message);
      if (plain === null) return null;
      const context = openRequestContext(services, digest, from, headers['mcp-protocol-version']?.toString());
      context.holder = holder;
      const call: BegunCall = { context, message, limits: countAsked(services, holder, { calls: 1, others: 0 }) };
      begun.set(request, call);
      const limits = await call.limits.catch(() => null);
      if (limits === null) return null;
      call.response = callTool(context, plain).then((result) => plainAnswer(plain, result));
      const answered = await call.response;
      if (!context.caller) return null;
      return { text: answered, headers: { 'Content-Type': 'application/json', ...limits, ...everyAnswer } };
    },
  };
  return { answers, begunWith: (request: object | undefined) => request && begun.get(request) };
}
