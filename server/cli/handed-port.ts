/** The port of a worker: the process that started it listens, and hands it connections one by one (connection-sharing.ts). */

import type { Server, Socket } from 'node:net';
import type { Port } from './port.ts';

interface HandedPort extends Port {
  /** Has the server answer the connection. When the port is shut it does not, and gives up its hold of the connection, of which it has read nothing. */
  take(socket: Socket): boolean;
}

/** `server` gets the connections; `port` is what clients connect to. */
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
  // From then on an HTTP server looks for connections on which the head of a request does not come.
  server.emit('listening');
  return {
    port,
    take(socket) {
      if (isShut) {
        socket.destroy();
        return false;
      }
      open += 1;
      // As it is where an HTTP server took it itself: who has said all may still be answered.
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
