/** An additional node of a service, with a database connection that the test chooses. */

import type pg from 'pg';
import { createApp } from '../../server/app.ts';
import { listen } from '../../server/cli/listen.ts';
import type { Config } from '../../server/config/config.ts';
import { openServices } from '../../server/services.ts';
import { startNetwork } from '../database/network.ts';
import type { TestService } from '../harness.ts';

export interface ExtraNode {
  readonly origin: string;
  readonly mcpUrl: string;
  stop(): Promise<void>;
}

/**
 * Milliseconds that a node waits for an unreachable database: longer than a busy machine takes to connect to a
 * reachable one.
 */
export const withoutDatabase = 10_000;

/** Starts a node that shares the service's clock, log and public address. */
export async function startNode(
  service: TestService,
  connection: pg.ClientConfig,
  { config: settings, ...options }: { silenceMillis?: number; waitMillis?: number; config?: Partial<Config> } = {},
): Promise<ExtraNode> {
  const { config, clock, log, mail } = service.services;
  const listener = await listen('127.0.0.1', 0);
  const { services, close } = await openServices({ ...config, ...settings }, connection, {
    clock,
    log,
    mail,
    waitMillis: 30_000,
    ...options,
  });
  listener.answerWith(createApp(services), services);
  const origin = `http://127.0.0.1:${listener.port}`;
  return {
    origin,
    mcpUrl: origin,
    stop: () => close(() => listener.close(1)),
  };
}

/** Starts a node that could reach the database when it started, and no longer can. */
export async function startCutOffNode(service: TestService): Promise<ExtraNode> {
  const network = await startNetwork(service.connections.server);
  const node = await startNode(service, network.connection, { waitMillis: withoutDatabase });
  await network.stop();
  return node;
}
