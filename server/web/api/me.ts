/** GET and PATCH /me: the person, their memberships, and the features that are turned on in this installation. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { secondFactorOwed } from '../../domain/people/brokerages.ts';
import { listPasskeys } from '../../domain/accounts/passkeys.ts';
import { listMemberships, renameOneself } from '../../domain/people/people.ts';
import { recoveryCodesLeft } from '../../domain/accounts/second-factor.ts';
import { csrfToken } from '../../http/csrf.ts';
import { deploymentDraftKeys } from '../../http/draft-keys.ts';
import { sessionDigest, sessionToken } from '../../http/session.ts';
import { originOf } from '../../http/origin.ts';
import { withPerson } from '../../http/person.ts';
import { body, properName } from './input.ts';

const Rename = z.strictObject({ name: properName });

/** The /me routes, below /api/web. */
export function meRoutes(services: Services) {
  const draftKey = deploymentDraftKeys(services);
  const about = async (c: Context) => {
    const digest = sessionDigest(c);
    const [person, memberships, passkeys, codesLeft, owed] = await withPerson(
      services,
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
      features: services.config.features,
      second_factor: { totp: person.second_factor, passkeys: passkeys.length, recovery_codes_left: codesLeft },
      second_factor_owed: owed,
    });
  };
  return new Hono().get('/me', about).patch('/me', body(Rename), async (c) => {
    const { name } = c.req.valid('json');
    await withPerson(services, c, renameOneself(name, originOf(c)));
    return about(c);
  });
}
