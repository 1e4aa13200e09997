/** Passkeys: registering, signing in, listing, renaming, removing. */

import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { isWithin } from '../domain/characters.ts';
import { lengths } from '../domain/lengths.ts';
import type { Services } from '../services.ts';
import { personOf } from '../domain/accounts/passwords.ts';
import {
  addPasskey,
  findPasskey,
  keepChallenge,
  listPasskeys,
  removePasskey,
  renamePasskey,
  signInWithPasskey,
} from '../domain/accounts/passkeys.ts';
import { asToken, mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { requireRecentSignIn } from '../domain/accounts/sessions.ts';
import { csrfGuard, csrfToken, originGuard } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { ourOrigin, sessionDigest, setTokenCookie } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody } from './action.ts';
import { countingRefusals, countRequest } from './attempts.ts';
import { asCaller, freshSession, signedIn, signInOriginOf } from './signed-in.ts';

// Loaded with the first passkey, since it has a quarter of all the modules that the service would otherwise load at its
// start.
const webAuthn = () => import('@simplewebauthn/server');

const refused = () =>
  new Problem(401, 'passkey_refused', 'This passkey could not be used to sign in. Try again, or sign in another way.');
const notRegistered = () => new Problem(400, 'passkey_refused', 'The passkey could not be checked. Try again.');

// A passkey is valid for one host name, the public one.
const hostOf = (c: Context): string => new URL(ourOrigin(c)).hostname;
const bytes = (base64url: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(base64url, 'base64url'));
const userHandle = (userId: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(userId.replaceAll('-', ''), 'hex'));

/** COSE numbers of Ed25519, ECDSA and RSA: every authenticator has one of them. */
const supportedAlgorithmIDs = [-8, -7, -257];

/** The credential as the browser's toJSON() gives it; the library checks the rest. */
const credential = <Sent>() =>
  z.looseObject({
    id: z.string().min(1).max(1400),
    rawId: z.string(),
    type: z.literal('public-key'),
    response: z.looseObject({ clientDataJSON: z.string() }),
    clientExtensionResults: z.looseObject({}),
  }) as z.ZodType as z.ZodType<Sent, Sent>;

/** Extracts the signed challenge from the browser's response while the library verifies the rest. */
function challengeIn() {
  let seen: string | null = null;
  return { check: (challenge: string) => (seen = asToken(challenge)) !== null, digest: () => tokenDigest(seen ?? '') };
}

async function checkSignature(services: Services, c: Context, response: AuthenticationResponseJSON) {
  const stored = await services.database.run(findPasskey(response.id));
  if (stored === null) throw refused();
  const handle = response.response.userHandle;
  if (handle && !Buffer.from(handle, 'base64url').equals(userHandle(stored.user_id))) throw refused();
  const challenge = challengeIn();
  const { verifyAuthenticationResponse } = await webAuthn();
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge.check,
    expectedOrigin: ourOrigin(c),
    expectedRPID: hostOf(c),
    credential: {
      id: response.id,
      publicKey: new Uint8Array(stored.public_key),
      counter: Number(stored.counter),
      transports: stored.transports as AuthenticatorTransport[],
    },
    requireUserVerification: true,
  }).catch(() => {
    throw refused();
  });
  if (!verified) throw refused();
  return { challenge: challenge.digest(), counter: authenticationInfo.newCounter };
}

async function checkRegistration(c: Context, response: RegistrationResponseJSON) {
  const challenge = challengeIn();
  const { verifyRegistrationResponse } = await webAuthn();
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge.check,
    expectedOrigin: ourOrigin(c),
    expectedRPID: hostOf(c),
    requireUserVerification: true,
    supportedAlgorithmIDs,
  }).catch(() => {
    throw notRegistered();
  });
  if (!verified) throw notRegistered();
  return { challenge: challenge.digest(), credential: registrationInfo.credential };
}

const passkeyName = fields.name.refine(
  isWithin(lengths.passkeys.name),
  `Enter a name of at most ${lengths.passkeys.name} characters.`,
);
const noPasskey = () => new Problem(404, 'not_found', 'This passkey no longer exists.');

/** The routes below passkey. */
export function passkeyRoutes(services: Services) {
  const { database } = services;

  const challenge = action(z.object({}), async (c) => {
    await countRequest(services, c);
    const token = mintToken();
    const { generateAuthenticationOptions } = await webAuthn();
    const options = await generateAuthenticationOptions({
      rpID: hostOf(c),
      challenge: bytes(token),
      userVerification: 'required',
    });
    await database.run(keepChallenge(tokenDigest(token), null));
    // No extensions are requested, and their type is not a JSON type.
    return { ...options, extensions: undefined };
  });

  const enter = async (c: Context, response: AuthenticationResponseJSON) => {
    const checked = await checkSignature(services, c, response);
    const { token, session } = freshSession(c);
    const statement = signInWithPasskey(response.id, checked.challenge, checked.counter, session, signInOriginOf(c));
    const person = personOf(await database.run(statement));
    if (person === null) throw refused();
    return signedIn(services, c, token, person);
  };

  const signIn = action(z.object({ response: credential<AuthenticationResponseJSON>() }), (c, { response }) =>
    countingRefusals(services, c, () => enter(c, response)),
  );

  const registration = action(z.object({}), async (c) => {
    const token = mintToken();
    const digest = sessionDigest(c);
    const [caller, , , passkeys] = await asCaller(
      services,
      c,
      requireRecentSignIn(digest),
      keepChallenge(tokenDigest(token), digest),
      listPasskeys(digest),
    );
    const { generateRegistrationOptions } = await webAuthn();
    const options = await generateRegistrationOptions({
      rpName: 'Dealkeep',
      rpID: hostOf(c),
      userName: caller.email,
      userDisplayName: caller.name,
      userID: userHandle(caller.user_id),
      challenge: bytes(token),
      excludeCredentials: passkeys.map(({ credential_id: id, transports }) => ({ id, transports })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs,
    });
    return { ...options, extensions: { credProps: true } };
  });

  const add = action(
    z.object({ response: credential<RegistrationResponseJSON>(), name: passkeyName }),
    async (c, { response, name }) => {
      const checked = await checkRegistration(c, response);
      const { id, publicKey, counter, transports = [] } = checked.credential;
      const passkey = { credentialId: id, publicKey, counter, transports, name };
      const token = mintToken();
      const statement = addPasskey(sessionDigest(c), checked.challenge, passkey, tokenDigest(token), originOf(c));
      const [, added] = await asCaller(services, c, statement);
      if (!added) throw notRegistered();
      setTokenCookie(c, 'dealkeep', token);
      return { added: true, csrf_token: csrfToken(token) };
    },
  );

  const rename = action(z.object({ id: fields.id, name: passkeyName }), async (c, { id, name }) => {
    const [, renamed] = await asCaller(services, c, renamePasskey(sessionDigest(c), id, name, originOf(c)));
    if (!renamed) throw noPasskey();
    return { name };
  });

  const remove = action(z.object({ id: fields.id }), async (c, { id }) => {
    const [, removed] = await asCaller(services, c, removePasskey(sessionDigest(c), id, originOf(c)));
    if (!removed) throw noPasskey();
    return { removed: true };
  });

  return new Hono()
    .post('/passkey/options', smallBody, originGuard, challenge)

    .post('/passkey/sign-in', smallBody, originGuard, signIn)

    .post('/passkey/registration', smallBody, csrfGuard, registration)

    .post('/passkey/add', smallBody, csrfGuard, add)

    .get('/passkeys', async (c) => {
      const [, passkeys] = await asCaller(services, c, listPasskeys(sessionDigest(c)));
      return c.json({
        passkeys: passkeys.map(({ id, name, created_at, last_used_at }) => ({ id, name, created_at, last_used_at })),
      });
    })

    .post('/passkey/rename', smallBody, csrfGuard, rename)

    .post('/passkey/remove', smallBody, csrfGuard, remove);
}
