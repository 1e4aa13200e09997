/** What a test of passkeys needs: a host name, and a device that holds them. */

import { createServer, connect, type AddressInfo } from 'node:net';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';

export interface LocalhostProxy {
  readonly origin: string;
  close(): void;
}

/** Passkeys belong to a host name, never to an address: a proxy at localhost that leads to where `inside` says. */
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

/** Fits a page's browser with a device that holds passkeys and has its person verified without asking. */
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
