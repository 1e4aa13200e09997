/**
 * Shares out connections among processes that answer. Each is given one at a time and says whether it took it, so that one which hangs or is
 * busy keeps one from the others and no more. The connection is kept open here until then: when it was not taken, nothing of it was
 * read, and another process gets it.
 */

import type { Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import type { ToWorker } from './worker-messages.ts';

/** So many connections wait for a process; more are closed. */
const mostWaiting = 10_000;

export class ConnectionSharing {
  readonly #waiting: Socket[] = [];
  /** Those who take connections, with the one that each was given and has not taken yet. Who was given one last is last. */
  readonly #takers = new Map<Worker, Socket | null>();
  readonly #emptied = Promise.withResolvers<void>();
  #isClosing = false;

  /** Gives a worker the connection, of which nothing was read, as soon as one is free. */
  share(socket: Socket): void {
    if (this.#waiting.length >= mostWaiting) return void socket.destroy();
    // Node.js would have every process keep a list of those of a server.
    Object.assign(socket, { server: null });
    socket.on('error', () => {});
    this.#waiting.push(socket);
    this.#give();
  }

  /** Lets it have connections. */
  admit(worker: Worker): void {
    if (!this.#takers.has(worker)) this.#takers.set(worker, null);
    this.#give();
  }

  /** What it was given last it took, or did not because it ends. */
  answered(worker: Worker, took: boolean): void {
    const socket = this.#takers.get(worker);
    if (!socket) return;
    if (!took) return this.dismiss(worker);
    // The other process holds it.
    socket.destroy();
    this.#takers.set(worker, null);
    this.#give();
  }

  /** Lets it have no more; what it did not take goes to another. */
  dismiss(worker: Worker): void {
    const socket = this.#takers.get(worker);
    this.#takers.delete(worker);
    if (socket) this.#waiting.unshift(socket);
    this.#give();
  }

  /** None is shared from now on; resolves when none waits any more. Where nobody is left to take them they are closed. */
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
