/** One more node of a service, on a connection to the database of the test's own choosing. */

import type pg from 'pg';
import { createApp } from '../../server/app.ts';
import { openDatabase } from '../../server/database/database.ts';
import { listen } from '../../server/cli/listen.ts';
import type { TestService } from '../harness.ts';

export interface ExtraNode {
  readonly mcpUrl: string;
  stop(): Promise<void>;
}

/** It shares the service's limits, log and public address. */
export async function startNode(
  service: TestService,
  connection: pg.ClientConfig,
  { silenceMillis = 60_000 }: { silenceMillis?: number } = {},
): Promise<ExtraNode> {
  const [first] = service.nodes;
  const listener = await listen('127.0.0.1', 0);
  const database = openDatabase({ connection, silenceMillis, clock: service.clock.now });
  listener.answerWith(createApp({ ...first!.services, database }));
  return {
    mcpUrl: `http://127.0.0.1:${listener.port}`,
    async stop() {
      await listener.close(1);
      await database.close();
    },
  };
}
