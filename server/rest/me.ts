/** Operations on the calling API key and its sandbox. */

import type { Services } from '../services.ts';
import { callingApiKey } from '../domain/clients/api-keys.ts';
import { resetOwnSandbox } from '../domain/clients/sandboxes.ts';
import { originOf } from '../http/origin.ts';
import { Problem } from '../http/problem.ts';
import { answerJson } from './answer.ts';
import { unknownKey, type Callers } from './caller.ts';
import { replayed, type Operation } from './operation.ts';
import { callingKey, sandboxReset } from './schemas.ts';
import { idempotencyKey, openWrites } from './writes.ts';

/** The operations; `callers` authenticates keys. */
export function keyOperations(services: Services, callers: Callers): readonly Operation[] {
  const { config } = services;
  const writes = openWrites(services, callers);
  return [
    {
      method: 'get',
      path: '/me',
      id: 'getMe',
      tag: 'Key',
      summary: 'Get the API key that is calling',
      description: 'Its brokerage, its scopes and how many requests a minute it may make. Any key may call this.',
      scope: null,
      answers: { 200: { description: 'The key.', schema: callingKey } },
      async handle(c) {
        const { answer: found } = await callers.ask(c, null, () => callingApiKey());
        if (found === null) throw unknownKey();
        const { id, name, environment, lastFour, expiresAt, brokerageId, brokerageName, scopes, ceiling } = found;
        const body = {
          key: { id, name, environment, lastFour, expiresAt },
          brokerage: { id: brokerageId, name: brokerageName },
          scopes,
          ceiling: ceiling ?? config.rateLimits.rest_key,
        };
        return answerJson(c, { status: 200, body });
      },
    },
    {
      method: 'post',
      path: '/sandbox/reset',
      id: 'resetSandbox',
      tag: 'Key',
      summary: 'Reset the sandbox',
      description:
        "Restores the demo data of a test key's sandbox, under the same ids; webhooks stay, and the changes are events like any other. Any test key may call this, once every ten seconds for all of them: sooner returns 429.",
      scope: null,
      parameters: [idempotencyKey],
      answers: { 200: { description: 'When it was reset.', schema: sandboxReset, headers: replayed } },
      errors: ['conflict'],
      handle: (c) =>
        writes.run(c, { scopes: null, action: 'sandbox.reset' }, () => ({
          statements: [resetOwnSandbox(originOf(c))],
          said: null,
          answer: ([resetAt]) => {
            if (resetAt === null)
              throw new Problem(409, 'conflict', 'This is a live key: only a test key can reset the sandbox.');
            return { status: 200, body: { resetAt } };
          },
        })),
    },
  ];
}
