/** GET and PATCH /me: the person, what they are a member of, and what this house has switched on. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { House } from '../../context.ts';
import { secondFactorOwed } from '../../domain/brokerages.ts';
import { listPasskeys } from '../../domain/passkeys.ts';
import { listMemberships, renameOneself } from '../../domain/people.ts';
import { recoveryCodesLeft } from '../../domain/second-factor.ts';
import { csrfToken } from '../../http/csrf.ts';
import { deploymentDraftKeys } from '../../http/draft-keys.ts';
import { sessionDigest, sessionToken } from '../../http/session.ts';
import { properName, readBody } from './input.ts';
import { withPerson } from './person.ts';

const Rename = z.strictObject({ name: properName });

export function meRoutes(house: House): Hono {
  const draftKey = deploymentDraftKeys(house.database);
  const about = async (c: Context) => {
    const digest = sessionDigest(c);
    const [person, memberships, passkeys, codesLeft, owed] = await withPerson(
      house,
      c,
      listMemberships(),
      listPasskeys(digest),
      recoveryCodesLeft(digest),
      secondFactorOwed(),
    );
    return c.json({
      user: { id: person.user_id, email: person.email, name: person.name },
      csrf: csrfToken(sessionToken(c) ?? ''),
      draft_key: await draftKey(person.user_id),
      memberships,
      features: house.config.features,
      second_factor: { totp: person.second_factor, passkeys: passkeys.length, recovery_codes_left: codesLeft },
      second_factor_owed: owed,
    });
  };
  return new Hono().get('/me', about).patch('/me', async (c) => {
    const { name } = await readBody(c, Rename);
    await withPerson(house, c, renameOneself(name));
    return about(c);
  });
}
