/** Both eras of the protocol on one URL, without sessions: 2026-07-28, and the revisions of 2025 for older clients. */

import type { Sealer } from '../http/sealed-cursor.ts';
import type { Logger } from '../lib/log.ts';
import { callTool } from './call.ts';
import type { RequestContext } from './request-context.ts';
import { loadSdk } from './load-sdk.ts';
import type { PlainCalls } from './plain-call.ts';
import type { AnswerBySdk } from './sdk.ts';
import type { StaticResource } from './views.ts';

/**
 * Answers one message, or (from clients of early 2025) an array of messages, of `request`. A string is the JSON body of
 * a 200 response.
 */
export type Protocol = (request: Request, message: unknown, context: RequestContext) => Promise<Response | string>;

/**
 * Opens the protocol. `views` are the resources that display results; `sealerOf` seals the cursors of lists. What the
 * SDK reports besides its answers is logged.
 */
export function openProtocol(
  log: Logger,
  views: readonly StaticResource[],
  sealerOf: () => Promise<Sealer>,
  { plainCall, plainAnswer }: PlainCalls,
): Protocol {
  let answerBySdk: AnswerBySdk | null = null;
  return async (request, message, context) => {
    const plain = plainCall((name) => request.headers.get(name), message);
    if (plain) return plainAnswer(plain, await callTool(context, plain));
    const { openSdk } = await loadSdk();
    answerBySdk ??= openSdk(log, views, sealerOf);
    return answerBySdk(request, message, context);
  };
}
