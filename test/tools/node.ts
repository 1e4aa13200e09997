/** One more node of a house, on a connection to the database of the test's own choosing. */

import type pg from 'pg';
import { createApp } from '../../server/app.ts';
import { openDatabase } from '../../server/database/database.ts';
import { listen } from '../../server/listen.ts';
import type { TestHouse } from '../harness.ts';

export interface ExtraNode {
  readonly mcpUrl: string;
  stop(): Promise<void>;
}

/** It shares the house's limits, log and public address. */
export async function startNode(
  house: TestHouse,
  connection: pg.ClientConfig,
  { silenceMillis = 60_000 }: { silenceMillis?: number } = {},
): Promise<ExtraNode> {
  const [first] = house.nodes;
  const listener = await listen('127.0.0.1', 0);
  const database = openDatabase({ connection, silenceMillis, clock: house.clock.now });
  listener.answerWith(createApp({ ...first!.house, database }));
  return {
    mcpUrl: `http://127.0.0.1:${listener.port}`,
    async stop() {
      await listener.close(1);
      await database.close();
    },
  };
}
