/** Actions of people on their own account: changing name, password and address, downloading their data, erasing it. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { askAddressChange, askedAddress, changeAddress } from '../domain/accounts/address-change.ts';
import { hashPassword, usingHash } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { eraseOneself, mailsOfOneself, ownData } from '../domain/accounts/own-data.ts';
import { changePassword, ownPasswordRecipe } from '../domain/accounts/passwords.ts';
import { renameOneself } from '../domain/people/people.ts';
import { requireRecentSignIn } from '../domain/accounts/sessions.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfGuard, csrfToken } from '../http/csrf.ts';
import { mailDirectory, removeMails } from '../mail/files.ts';
import { mintLink } from '../mail/secrets.ts';
import { originOf } from '../http/origin.ts';
import { clearTokenCookie, notSignedIn, sessionDigest, sessionToken, setTokenCookie } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody, textAction } from './action.ts';
import { attemptsOn, countExport } from './attempts.ts';
import { asCaller, knowDevice } from './signed-in.ts';

const linkExpired = () =>
  new Problem(
    410,
    'link_expired',
    'This link has been used, has expired, or is for another account: ask for a new one.',
  );

async function setNewPassword(services: Services, c: Context, current: string, chosen: string) {
  const { database, config } = services;
  const { passwordParameters } = config;
  const digest = sessionDigest(c);
  const [caller, recipe] = await asCaller(services, c, ownPasswordRecipe(digest, passwordParameters));
  if (recipe === null) throw notSignedIn();
  const attempts = await attemptsOn(services, c, caller.email);
  await attempts.check();
  const fault = await passwordFault(chosen, [caller.email, caller.name]);
  if (fault !== null) throw new Problem(400, 'password_refused', fault);
  const newPhc = await hashPassword(chosen, passwordParameters, attempts.share);
  const token = mintToken();
  await usingHash(current, recipe, attempts.share, async (oldPhc) => {
    // Concurrent attempts wait in one queue for the hash, so check the failures counted meanwhile.
    await attempts.check();
    const outcome = await database.run(changePassword(digest, oldPhc, newPhc, tokenDigest(token), originOf(c)));
    if (outcome === null) throw notSignedIn();
    if (outcome === 'refused') {
      await attempts.failed();
      throw new Problem(403, 'password_wrong', 'The current password is not correct.');
    }
  });
  await attempts.succeeded();
  await knowDevice(services, c, token, true);
  setTokenCookie(c, 'dealkeep', token);
  return { changed: true, csrf_token: csrfToken(token) };
}

/** Erases the signed-in person, who confirmed by typing their address. */
async function erase(services: Services, c: Context, confirmation: string) {
  const [{ user_id, email }] = await asCaller(services, c);
  if (confirmation !== email) throw new Problem(400, 'validation_error', 'Type your own e-mail address to confirm.');
  const digest = sessionDigest(c);
  const { config, log } = services;
  // Logged before the erasure as well, since that may take long and a node that stops meanwhile logs no result. After
  // restoring an older backup, the operator erases the person again by this id.
  log.info({ person: user_id }, 'erasing a person');
  const [, mails, pseudonym] = await asCaller(services, c, mailsOfOneself(digest), eraseOneself(digest, originOf(c)));
  if (pseudonym === null) throw notSignedIn();
  clearTokenCookie(c, 'dealkeep');
  clearTokenCookie(c, 'dealkeep-device');
  log.info({ person: user_id }, 'erased a person');
  await removeMails(mailDirectory(config.dataDir), mails, email).catch((error: unknown) =>
    log.warn({ err: error }, 'e-mails in files to an erased person could not be removed'),
  );
  return { pseudonym };
}

/** The routes for the signed-in person and changes to their account. */
export function accountRoutes(services: Services) {
  const rename = action(z.object({ name: fields.name }), async (c, { name }) => {
    await asCaller(services, c, renameOneself(name, originOf(c)));
    return { name };
  });

  const password = action(z.object({ current_password: fields.password, password: fields.password }), (c, input) =>
    setNewPassword(services, c, input.current_password, input.password),
  );

  const address = action(z.object({ email: fields.email }), async (c, { email }) => {
    await asCaller(
      services,
      c,
      askAddressChange(sessionDigest(c), email, mintLink(services.secrets, true).link, originOf(c)),
    );
    return { message: 'An e-mail is on its way to the new address.' };
  });

  const link = action(z.object({ token: fields.token }), async (c, { token }) => {
    const [, email] = await asCaller(services, c, askedAddress(sessionDigest(c), tokenDigest(token)));
    if (email === null) throw linkExpired();
    return { email };
  });

  const confirm = action(z.object({ token: fields.token }), async (c, { token }) => {
    const statement = changeAddress(sessionDigest(c), tokenDigest(token), originOf(c));
    const [, changed] = await asCaller(services, c, statement);
    if (changed === null) throw linkExpired();
    return { email: changed.new_email };
  });

  const exportOwnData = textAction(z.object({}), async (c) => {
    const digest = sessionDigest(c);
    const [{ user_id }] = await asCaller(services, c, requireRecentSignIn(digest));
    await countExport(services, user_id);
    const [, data] = await asCaller(services, c, ownData(digest, originOf(c)));
    if (data === null) throw notSignedIn();
    return data;
  });

  const eraseSelf = action(z.object({ confirmation: fields.email }), (c, { confirmation }) =>
    erase(services, c, confirmation),
  );

  return new Hono()
    .get('/session', async (c) => {
      const [caller] = await asCaller(services, c);
      const { user_id: id, email, name, recently_authenticated, second_factor } = caller;
      const csrf_token = csrfToken(sessionToken(c) ?? '');
      return c.json({ user: { id, email, name }, csrf_token, recently_authenticated, second_factor });
    })

    .post('/profile', smallBody, csrfGuard, rename)

    .post('/password', smallBody, csrfGuard, password)

    .post('/address', smallBody, csrfGuard, address)

    .post('/address/link', smallBody, csrfGuard, link)

    .post('/address/confirm', smallBody, csrfGuard, confirm)

    .post('/export', smallBody, csrfGuard, exportOwnData)

    .post('/erase', smallBody, csrfGuard, eraseSelf);
}
