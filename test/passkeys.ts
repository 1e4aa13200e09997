/** Helpers for tests of passkeys: a host name, and an authenticator. */

import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, connect, type AddressInfo } from 'node:net';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { mintToken } from '../server/domain/accounts/secret-tokens.ts';
import type { TestService } from './harness.ts';

export interface LocalhostProxy {
  readonly origin: string;
  close(): void;
}

/**
 * Starts a proxy at `localhost` to the origin that `inside` returns: browsers bind passkeys to a host name, never to an
 * IP address.
 */
export async function openLocalhostProxy(inside: () => string): Promise<LocalhostProxy> {
  const server = createServer((socket) => {
    const onward = connect(Number(new URL(inside()).port), '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}

/** Adds a virtual authenticator to a page's browser context that verifies its user without prompting. */
export async function addDevice(
  context: BrowserContext,
  page: Page,
): Promise<{ devtools: CDPSession; authenticatorId: string }> {
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devtools, authenticatorId };
}

/**
 * A software passkey: its counter stays at 0, and it signs any challenge. A browser would refuse a passkey for an IP
 * address, such as the service's; the server does not.
 */
function programsPasskey(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const coordinate = (name: number, value: string) => [Buffer.from([name, 0x58, 32]), Buffer.from(value, 'base64url')];
  // A COSE key (RFC 9053, section 7.1): {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
  const cose = Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]),
    ...coordinate(0x21, x),
    ...coordinate(0x22, y),
  ]);
  const id = mintToken();
  const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
  const clientDataOf = (type: 'create' | 'get', challenge: string) =>
    Buffer.from(JSON.stringify({ type: `webauthn.${type}`, challenge, origin }));
  // The flags: user present, user verified, and optionally that a key follows. The counter is 0.
  const authenticatorData = (flags: number, key: readonly Buffer[] = []) =>
    Buffer.concat([sha256(new URL(origin).hostname), Buffer.from([flags, 0, 0, 0, 0]), ...key]);
  const answer = <Response>(response: Response) => ({
    response: { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} },
  });
  return {
    id,
    cose,
    /** The response that registers the passkey, to the challenge of a registration. */
    registrationOf(challenge: string) {
      const credentialId = Buffer.from(id, 'base64url');
      // No attestation of the authenticator's maker, so its AAGUID is all zeros.
      const key = [Buffer.alloc(16), Buffer.from([0, credentialId.length]), credentialId, cose];
      const data = authenticatorData(0x45, key);
      const text = (value: string) => [Buffer.from([0x60 + value.length]), Buffer.from(value)];
      // CBOR (RFC 8949): {"fmt": "none", "attStmt": {}, "authData": data}.
      const attestation = Buffer.concat([
        Buffer.from([0xa3]),
        ...text('fmt'),
        ...text('none'),
        ...text('attStmt'),
        Buffer.from([0xa0]),
        ...text('authData'),
        Buffer.from([0x58, data.length]),
        data,
      ]);
      return answer({
        clientDataJSON: clientDataOf('create', challenge).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
      });
    },
    /** The response that signs in with the passkey. */
    answerTo(challenge: string) {
      const clientData = clientDataOf('get', challenge);
      const data = authenticatorData(0x05);
      const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), privateKey);
      return answer({
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
      });
    },
  };
}

/** A software passkey that is not registered yet. */
export const newProgramsPasskey = ({ origin }: TestService) => programsPasskey(origin);

/** Registers a software passkey for a user. */
export async function addProgramsPasskey({ sql, origin }: TestService, userId: string) {
  const passkey = programsPasskey(origin);
  await sql(
    `insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name) values ($1, $2, $3, 0, '{}', 'Program')`,
    [userId, passkey.id, passkey.cose],
  );
  return passkey;
}
