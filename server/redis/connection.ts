/** Connections to Redis or Valkey at REDIS_URL. */

import { setTimeout } from 'node:timers/promises';
import { createClient } from '@redis/client';

export type Redis = Awaited<ReturnType<typeof openRedis>>;

/** How long a start waits for the connection, in milliseconds. */
const patience = 2_000;

interface RedisOptions {
  /**
   * Milliseconds without data from Redis after which the connection is closed; only for connections that are never idle
   * that long.
   */
  readonly silenceMillis?: number;
}

/**
 * Creates a client that connects now and reconnects after every lost connection, and rejects commands meanwhile instead
 * of queueing them; `url` is redis:// or rediss://. Resolves when the client is connected, or after 2 s. `destroy` ends
 * it.
 */
export async function openRedis(url: string, { silenceMillis }: RedisOptions = {}) {
  const client = createClient({
    url,
    name: 'dealkeep',
    // The protocol of every version of Redis and Valkey, without extensions of a single vendor's service.
    RESP: 2,
    maintNotifications: 'disabled',
    disableOfflineQueue: true,
    socket: {
      connectTimeout: patience,
      reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000),
      ...(silenceMillis !== undefined && { socketTimeout: silenceMillis }),
    },
  });
  // Commands reject by themselves when the connection is lost; without a listener the process would exit.
  client.on('error', () => {});
  const connected = client.connect().catch(() => {});
  await Promise.race([connected, setTimeout(patience, undefined, { ref: false })]);
  return client;
}
