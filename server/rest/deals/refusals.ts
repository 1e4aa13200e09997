/** How the REST API reports that the rules of a sale forbid a change: 409 `conflict`, with the message of the rule. */

import { Conflict, Denied, Invalid, Refusal } from '../../database/errors.ts';
import { inCamelCase } from '../../domain/events/resources.ts';
import { secondsToWait } from '../../http/problem.ts';
import { conflict, invalid, rateLimited } from '../envelope.ts';
import { notFound, type Missing } from './records.ts';

/**
 * Translates an error for a key that changes a record of a deal; `code` is the error when the key does not see the
 * record.
 */
export const refusedOn =
  (code: Missing) =>
  (fault: unknown): unknown => {
    if (fault instanceof Refusal) {
      const { reason, message } = fault;
      if (reason === 'not_found') return notFound(code);
      if (reason !== 'too_many_mails') return conflict(message, { reason }, fault);
      return rateLimited(message, secondsToWait(fault), { cause: fault });
    }
    if (fault instanceof Denied)
      return conflict(
        'This API key, or the person who issued it, may not do this on this deal.',
        { reason: 'denied' },
        fault,
      );
    if (fault instanceof Conflict) return conflict(fault.message, { reason: 'exists' }, fault);
    if (fault instanceof Invalid)
      return invalid([{ in: 'body', path: inCamelCase(fault.field ?? ''), message: fault.message }]);
    return fault;
  };
