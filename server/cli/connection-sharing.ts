/**
 * Distributes connections among workers. Each worker is given one connection at a time and reports whether it accepted
 * it, so that a worker that hangs or is busy delays only one connection. The connection is kept open here until then:
 * if it was not accepted, nothing has been read from it, and another worker gets it.
 */

import type { Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import type { ToWorker } from './worker-messages.ts';

/** At most this many connections wait for a worker; further ones are closed. */
const mostWaiting = 10_000;

export class ConnectionSharing {
  readonly #waiting: Socket[] = [];
  /**
   * Workers that accept connections, with the connection that each was given and has not accepted yet. The worker that
   * was given one last comes last.
   */
  readonly #takers = new Map<Worker, Socket | null>();
  readonly #emptied = Promise.withResolvers<void>();
  #isClosing = false;

  /** Gives the connection, of which nothing has been read, to a worker as soon as one is free. */
  share(socket: Socket): void {
    if (this.#waiting.length >= mostWaiting) return void socket.destroy();
    // Otherwise Node.js would make every process keep a list of the server's connections.
    Object.assign(socket, { server: null });
    socket.on('error', () => {});
    this.#waiting.push(socket);
    this.#give();
  }

  /** Lets the worker receive connections. */
  admit(worker: Worker): void {
    if (!this.#takers.has(worker)) this.#takers.set(worker, null);
    this.#give();
  }

  /** The worker has accepted the last connection given to it, or has not because it ends. */
  answered(worker: Worker, took: boolean): void {
    const socket = this.#takers.get(worker);
    if (!socket) return;
    if (!took) return this.dismiss(worker);
    // The worker now holds the connection.
    socket.destroy();
    this.#takers.set(worker, null);
    this.#give();
  }

  /** Gives the worker no more connections; a connection that it has not accepted goes to another worker. */
  dismiss(worker: Worker): void {
    const socket = this.#takers.get(worker);
    this.#takers.delete(worker);
    if (socket) this.#waiting.unshift(socket);
    this.#give();
  }

  /**
   * Begins closing; resolves when no connection is waiting. Waiting connections are closed if no worker is left to
   * accept them.
   */
  emptied(): Promise<void> {
    this.#isClosing = true;
    this.#give();
    return this.#emptied.promise;
  }

  #give(): void {
    while (this.#waiting.length > 0) {
      const [worker] = [...this.#takers].find(([, given]) => given === null) ?? [];
      const socket = worker && this.#waiting.shift();
      if (!socket) break;
      this.#takers.delete(worker);
      this.#takers.set(worker, socket);
      const message: ToWorker = { to: 'take' };
      worker.send(message, socket, { keepOpen: true }, (error) => {
        if (error) this.dismiss(worker);
      });
    }
    if (!this.#isClosing) return;
    if (this.#takers.size === 0) for (const socket of this.#waiting.splice(0)) socket.destroy();
    if (this.#waiting.length === 0) this.#emptied.resolve();
  }
}
