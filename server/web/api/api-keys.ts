/** The API keys of a brokerage, for its admins. Each new token is returned once. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import {
  apiKey,
  apiKeysOf,
  createApiKey,
  keyEnvironments,
  mintApiKey,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
} from '../../domain/clients/api-keys.ts';
import { keyScopes } from '../../domain/clients/key-scopes.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { requireRecentSignIn } from '../../domain/accounts/sessions.ts';
import { sessionDigest } from '../../http/session.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { nothingThere } from '../../http/problem.ts';
import { body, instant, optional, pathId, visibleLine } from './input.ts';
import { orMissing } from './problems.ts';
import { withRecord } from './visible-record.ts';

const New = z.strictObject({
  name: visibleLine(lengths.api_keys.name),
  environment: z.enum(keyEnvironments, { error: 'Choose live or test.' }),
  scopes: z
    .array(z.enum(keyScopes, { error: 'Choose what the key may do.' }))
    .min(1, 'Choose what the key may do.')
    .transform((scopes) => [...new Set(scopes)]),
  ceiling: z
    .int('Enter a whole number.')
    .min(1, 'Enter a number from 1 to 100,000.')
    .max(100_000, 'Enter a number from 1 to 100,000.')
    .nullable()
    .default(null),
  expires_at: optional(instant),
});
const longestOverlap = 30 * 86_400;
const Rotation = z.strictObject({
  overlap_seconds: z
    .int('Enter a whole number of seconds.')
    .min(0, 'The old token can keep working for 0 to 30 days.')
    .max(longestOverlap, 'The old token can keep working for 0 to 30 days.'),
});

const hintOf = (environment: string, lastFour: string | null) =>
  lastFour === null ? null : `dk_${environment}_…${lastFour}`;

const shown = (key: ApiKey) => ({
  id: key.id,
  brokerage_id: key.brokerage_id,
  name: key.name,
  environment: key.environment,
  scopes: key.scopes,
  ceiling: key.ceiling,
  hint: hintOf(key.environment, key.last_four),
  scopes_in_force: key.scopes_in_force,
  works_through: key.works_through,
  state: key.state,
  expires_at: key.expires_at,
  created_by_name: key.created_by_name,
  created_at: key.created_at,
  last_used_at: key.last_used_at,
  revoked_at: key.revoked_at,
  previous_hint: hintOf(key.environment, key.previous_last_four),
  previous_valid_until: key.previous_valid_until,
});

/** The API key routes, below /api/web. */
export function apiKeyRoutes(services: Services) {
  /** Makes the change and returns the key after it with its new token. Requires a recent sign-in. */
  const issue = async (c: Context, id: string, change: Statement<unknown>, token: string) => {
    const recently = requireRecentSignIn(sessionDigest(c));
    const [, , key] = await orMissing(asPerson(services, c, recently, change, apiKey(id)));
    if (!key) throw nothingThere();
    return { key: shown(key), token };
  };

  return new Hono()
    .get('/brokerages/:id/keys', async (c) => {
      const id = pathId(c);
      const [keys] = await withRecord(services, c, 'brokerages', id, apiKeysOf(id));
      return c.json({ items: keys.map(shown) });
    })

    .post('/brokerages/:id/keys', body(New), async (c) => {
      const brokerageId = pathId(c);
      const { expires_at: expiresAt, ...key } = c.req.valid('json');
      const minted = mintApiKey(key.environment);
      const [, , id] = await asPerson(
        services,
        c,
        requireVisible('brokerages', brokerageId),
        requireRecentSignIn(sessionDigest(c)),
        createApiKey({ ...key, brokerageId, expiresAt }, minted, originOf(c)),
      );
      const [made] = await asPerson(services, c, apiKey(id));
      if (!made) throw nothingThere();
      return c.json({ key: shown(made), token: minted.token }, 201);
    })

    .post('/keys/:id/rotate', body(Rotation), async (c) => {
      const id = pathId(c);
      const { overlap_seconds } = c.req.valid('json');
      const [key] = await asPerson(services, c, apiKey(id));
      if (!key) throw nothingThere();
      const minted = mintApiKey(key.environment);
      return c.json(await issue(c, id, rotateApiKey(id, overlap_seconds, minted, originOf(c)), minted.token));
    })

    .post('/keys/:id/revoke', async (c) => {
      const id = pathId(c);
      const [, key] = await orMissing(asPerson(services, c, revokeApiKey(id, originOf(c)), apiKey(id)));
      if (!key) throw nothingThere();
      return c.json(shown(key));
    });
}
