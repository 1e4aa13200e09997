/** A loopback proxy that adds a bearer token to every request, for clients that cannot be configured with a token. */

import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts the proxy on a free port; `url` returns the address of a path of the target through the proxy. */
export async function addToken(
  target: string,
  token: string,
): Promise<{ url: (path: string) => string; close: () => void }> {
  const { hostname, port } = new URL(target);
  const server: Server = createServer((incoming, answer) => {
    const outgoing = request(
      {
        hostname,
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...incoming.headers, authorization: `Bearer ${token}` },
      },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    outgoing.on('error', () => answer.destroy());
    answer.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const ours = (server.address() as AddressInfo).port;
  return {
    url: (path) => `http://127.0.0.1:${ours}${path}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
