/**
 * Delays responses of 429 when there are many of them: a client that sends its next request as soon as it has a
 * response would otherwise keep the process busy with refusing it. A delayed response holds up no other request.
 */

import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { MiddlewareHandler } from 'hono';
import type { LoadShedding } from './load-shedding.ts';

interface RefusalDelay {
  /** Number of responses per second that are sent without delay. */
  readonly atOnce: number;
  /** Delay of further responses, in milliseconds. */
  readonly waitMillis: number;
  /** Maximum number of delayed responses at a time. */
  readonly most: number;
}

const usual: RefusalDelay = { atOnce: 50, waitMillis: 100, most: 2_000 };
/** How often the delayed responses are checked, in milliseconds. */
const every = 10;

interface Waiting {
  readonly until: number;
  readonly go: () => void;
}

/** Delays responses of 429 when there were many within a second. */
export function delayRefusals(load: LoadShedding, { atOnce, waitMillis, most } = usual): MiddlewareHandler {
  /** In the order in which they are sent. */
  let waiting: Waiting[] = [];
  let looking: NodeJS.Timeout | undefined;
  let second = 0;
  let sent = 0;

  function look(): void {
    const now = performance.now();
    const stay = waiting.findIndex(({ until }) => until > now);
    const gone = waiting.splice(0, stay < 0 ? waiting.length : stay);
    if (waiting.length === 0) {
      clearInterval(looking);
      looking = undefined;
    }
    for (const { go } of gone) go();
  }

  return async (c, next) => {
    await next();
    if (c.res.status !== 429) return;
    const now = performance.now();
    if (now - second >= 1_000) {
      second = now;
      sent = 0;
    }
    sent += 1;
    if (sent <= atOnce || waiting.length >= most) return;
    const { outgoing } = c.env as Partial<HttpBindings>;
    if (outgoing) load.releaseSlot(outgoing as ServerResponse);
    looking ??= setInterval(look, every).unref();
    await new Promise<void>((go) => waiting.push({ until: now + waitMillis, go }));
  };
}
