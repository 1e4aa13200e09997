/** The three endpoints of contacts (specification, section 4.1). */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { Refusal, Unavailable } from '../database/errors.ts';
import { mapped } from '../database/statement.ts';
import { enterWithApiKey } from '../domain/clients/api-keys.ts';
import {
  contactById,
  contactsPage,
  createContact,
  recordNotCreated,
  type Contact,
  type Position,
} from '../domain/contacts/contacts.ts';
import type { Origin } from '../domain/audit/audited.ts';
import { originOf } from '../http/origin.ts';
import { Problem, problemOf } from '../http/problem.ts';
import { deploymentSealer, type Sealer, type Unsealed } from '../http/sealed-cursor.ts';
import { isUuid } from '../http/uuid.ts';
import { readBody } from './body.ts';
import { unknownKey, type Callers } from './caller.ts';
import { placeOf, positionOf } from './cursor.ts';
import { invalid, isKnown } from './envelope.ts';
import { contactCreate } from './schemas.ts';

const list = 'contacts';

const badLimit = () => invalid([{ in: 'query', path: 'limit', message: 'Send one whole number from 1 to 200.' }]);
const badCursor = () =>
  invalid([
    {
      in: 'query',
      path: 'cursor',
      message: 'Send nextCursor of an earlier answer to this brokerage, unchanged, or start again without it.',
    },
  ]);
const notFound = () => new Problem(404, 'contact_not_found', 'There is no such contact.');

/** `limit`: 1 to 200, default 50; never clamped. */
function readLimit(c: Context): number {
  const [given, ...others] = c.req.queries('limit') ?? [];
  if (given === undefined) return 50;
  const limit = /^[1-9]\d{0,2}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > 200 || others.length > 0) throw badLimit();
  return limit;
}

/** The position to go on from; whether it was given out for this list is not known before it is known who asks. */
function readCursor(c: Context, sealer: Sealer): (Unsealed & { readonly position: Position }) | null {
  const [given, ...others] = c.req.queries('cursor') ?? [];
  if (given === undefined) return null;
  const unsealed = sealer.unseal(given);
  const position = unsealed && positionOf(unsealed.place);
  if (!unsealed || !position || others.length > 0) throw badCursor();
  return { ...unsealed, position };
}

function readIdempotencyKey(c: Context): string | null {
  const key = c.req.header('idempotency-key');
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) {
    const message = 'Send one key of 1 to 255 visible ASCII characters, or leave the header out.';
    throw invalid([{ in: 'header', path: 'Idempotency-Key', message }]);
  }
  return key ?? null;
}

/** An idempotency key that stands for another body is a fault of the request. */
const faultOfCreate = (fault: unknown): unknown =>
  fault instanceof Refusal ? invalid([{ in: 'header', path: 'Idempotency-Key', message: fault.message }]) : fault;

export interface ContactEndpoints {
  list(c: Context): Promise<Response>;
  get(c: Context): Promise<Response>;
  create(c: Context): Promise<Response>;
}

export function contactEndpoints({ database, secrets, log }: Services, callers: Callers): ContactEndpoints {
  const sealerOf = deploymentSealer({ database, secrets });

  async function recordFailure(digest: Buffer, error: unknown, from: Origin): Promise<void> {
    const problem = problemOf(error);
    const { status, code } = problem && isKnown(problem.code) ? problem : { status: 500, code: 'internal_error' };
    const record = recordNotCreated(status < 500 ? 'refused' : 'failed', { status, code }, from);
    await database.together(enterWithApiKey(digest), record).catch((lost: unknown) => {
      log.error({ err: lost, requestId: from.requestId }, 'A refused contact left no audit record');
    });
  }

  return {
    async list(c) {
      const sealer = await sealerOf();
      const { caller, answer } = await callers.ask(c, 'contacts:read', () => {
        const limit = readLimit(c);
        const cursor = readCursor(c, sealer);
        return mapped(contactsPage(limit + 1, cursor?.position ?? null), (found) => ({ limit, cursor, found }));
      });
      const { limit, cursor, found } = answer;
      const tenant = caller.brokerage_id;
      if (cursor !== null && !cursor.isFor(list, tenant)) throw badCursor();
      const hasMore = found.length > limit;
      const data = hasMore ? found.slice(0, limit) : found;
      const last = data.at(-1);
      const nextCursor = hasMore && last ? sealer.seal(list, tenant, placeOf(last)) : null;
      return c.json({ data, pagination: { hasMore, nextCursor } });
    },

    async get(c) {
      const id = c.req.param('contactId') ?? '';
      const { answer: found } = await callers.ask(c, 'contacts:read', () => {
        if (!isUuid(id)) throw notFound();
        return contactById(id);
      });
      if (found === null) throw notFound();
      return c.json(found);
    },

    async create(c) {
      const from = originOf(c);
      const { answer } = await callers
        .ask(
          c,
          'contacts:write',
          async () => {
            const idempotencyKey = readIdempotencyKey(c);
            const { type, displayName, email = null, phone = null } = await readBody(c, contactCreate);
            const given = { type, displayName, email, phone };
            return mapped(createContact(given, idempotencyKey, from), (made) => ({ made, given }));
          },
          async (digest, fault) => {
            // A database that is away takes no record either, and the caller has waited for it long enough.
            if (!(fault instanceof Unavailable)) await recordFailure(digest, faultOfCreate(fault), from);
          },
        )
        .catch((fault: unknown) => {
          throw faultOfCreate(fault);
        });
      const { made, given } = answer;
      if (made === null) throw unknownKey();
      const { id, created_at: createdAt, repeated } = made;
      const { type, displayName, email, phone } = given;
      const contact: Contact = { id, type, displayName, email, phone, createdAt, updatedAt: createdAt };
      c.header('Location', `/api/v1/contacts/${id}`);
      if (repeated) c.header('Idempotent-Replayed', 'true');
      return c.json(contact, 201);
    },
  };
}
