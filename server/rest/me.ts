/** What an API key is told of itself. */

import type { Services } from '../services.ts';
import { callingApiKey } from '../domain/clients/api-keys.ts';
import { answerJson } from './answer.ts';
import { unknownKey, type Callers } from './caller.ts';
import type { Operation } from './operation.ts';
import { callingKey } from './schemas.ts';

export function keyOperations({ config }: Services, callers: Callers): readonly Operation[] {
  return [
    {
      method: 'get',
      path: '/me',
      id: 'getMe',
      tag: 'Key',
      summary: 'Get the API key that is calling',
      description: 'Its brokerage, its scopes and how many requests a minute it may make. Any key may ask.',
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
  ];
}
