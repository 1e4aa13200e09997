/** The lifecycle of a running server: everything is opened in order, and closed in reverse order. */

import { setTimeout as pause } from 'node:timers/promises';
import { createApp } from '../app.ts';
import { startBackground } from '../background.ts';
import { settled } from '../config/config.ts';
import { openServices } from '../services.ts';
import { listen } from './listen.ts';
import { makeReady, opening, opensPortFirst, type Start } from './startup.ts';

/** Starts the server in this process. */
export const start: Start = (config, { log, tracing }, prepare, signal) =>
  opening(config, log, signal, async ({ connections, closers, stop }) => {
    let listener = opensPortFirst(config) ? await listen(config.host, config.port) : null;
    closers.push(async () => listener?.close(config.shutdownSeconds));
    const port = listener?.port ?? config.port;
    const { services, leave, close } = await openServices(settled(config, port), connections.server, {
      log,
      tracing,
    });
    // Requests in flight still need the services.
    closers.push(() => close(async () => listener?.close(config.shutdownSeconds)));

    await makeReady(services, { connections, closers }, prepare, config, signal);
    const app = createApp(services);
    const open = (listener ??= await listen(config.host, config.port));
    open.answerWith(app, services);
    closers.push(startBackground(services));
    const drain = async (seconds: number, hurry: AbortSignal) => {
      leave();
      open.leave();
      await pause(seconds * 1000, undefined, { signal: hurry }).catch(() => {});
    };
    return { services, died: connections.died, drain, stop };
  });
