/** Connections to Redis or Valkey, at REDIS_URL. */

import { setTimeout } from 'node:timers/promises';
import { createClient } from '@redis/client';

export type Redis = Awaited<ReturnType<typeof openRedis>>;

/** How long a start waits for the connection, in milliseconds. */
const patience = 2_000;

interface RedisOptions {
  /** After how long without data from Redis the connection is given up, in milliseconds; for one that is never idle so long. */
  readonly silenceMillis?: number;
}

/**
 * A client that connects by itself, now and whenever its connection was lost, and refuses commands meanwhile instead of
 * keeping them; `url` is redis:// or rediss://. Resolves when it is connected, or after 2 s. `destroy` ends it.
 */
export async function openRedis(url: string, { silenceMillis }: RedisOptions = {}) {
  const client = createClient({
    url,
    name: 'dealkeep',
    // The protocol that every version of Redis and Valkey speaks, and nothing of one vendor's own service.
    RESP: 2,
    maintNotifications: 'disabled',
    disableOfflineQueue: true,
    socket: {
      connectTimeout: patience,
      reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000),
      ...(silenceMillis !== undefined && { socketTimeout: silenceMillis }),
    },
  });
  // Commands fail by themselves when the connection is lost; without a listener the process would end.
  client.on('error', () => {});
  const connected = client.connect().catch(() => {});
  await Promise.race([connected, setTimeout(patience, undefined, { ref: false })]);
  return client;
}
