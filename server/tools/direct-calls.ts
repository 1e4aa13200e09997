/** Plain calls (plain-call.ts) answered by Node.js's own request and response, as far as nothing stands in their way. */

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

/** A call that was begun here, for the routes to go on with: what is there of it is not done again. */
interface BegunCall {
  readonly context: RequestContext;
  readonly message: unknown;
  readonly limits: Promise<Readonly<Record<string, string>>>;
  /** Set once the tool runs, which it does once. */
  response?: Promise<string>;
}

const paths: ReadonlySet<string> = new Set(resourcePaths.filter((path) => path !== ''));

/** Whether the headers that count once were sent once: of several, Node.js gives the first. */
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

/** What answers plain calls before the app, and what hands the routes a call that they have to go on with. `everyAnswer`: headers. */
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
      // Of a token that is not known yet the routes find out whose it is.
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
