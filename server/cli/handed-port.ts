/**
 * The port of a worker: the parent process listens, and hands connections to the worker one by one
 * (connection-sharing.ts).
 */

import type { Server, Socket } from 'node:net';
import type { Port } from './port.ts';

interface HandedPort extends Port {
  /**
   * Passes the connection to the server. False when the port is shut: the worker then closes its handle of the
   * connection, of which it has read nothing.
   */
  take(socket: Socket): boolean;
}

/** Opens the port: `server` gets the connections; `port` is the number that clients connect to. */
export function openHandedPort(server: Server, port: number): HandedPort {
  let isShut = false;
  let open = 0;
  const allClosed = Promise.withResolvers<void>();
  function look(): void {
    if (isShut && open === 0) server.close(() => allClosed.resolve());
  }
  // One function for all connections: there are thousands.
  function closed(): void {
    open -= 1;
    look();
  }
  async function shut(): Promise<void> {
    if (isShut) return;
    isShut = true;
    look();
  }
  // Makes the HTTP server check for connections whose request head does not arrive.
  server.emit('listening');
  return {
    port,
    take(socket) {
      if (isShut) {
        socket.destroy();
        return false;
      }
      open += 1;
      // As on connections that an HTTP server accepts itself: a client that has closed its sending side can still
      // receive the response.
      socket.allowHalfOpen = true;
      socket.on('close', closed);
      server.emit('connection', socket);
      return true;
    },
    shut,
    async close() {
      await shut();
      await allClosed.promise;
    },
  };
}
