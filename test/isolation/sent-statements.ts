/**
 * The scene of docs/visibility.md behind a service whose statements are recorded, and a connection on which to run them
 * again.
 */

import type pg from 'pg';
import type { Statement } from '../../server/database/statement.ts';
import { openService, type TestService } from '../harness.ts';
import { connect } from '../policies/scene.ts';

export interface SentStatements {
  readonly service: TestService;
  /** A connection with the service's database role. */
  readonly server: pg.Client;
  /** Returns the statements that the service sends during `ask`, grouped by transaction. */
  sentBy(ask: () => Promise<unknown>): Promise<Statement<unknown>[][]>;
  close(): Promise<void>;
}

/** Opens the service, with every feature on. Call `close` in afterAll. */
export async function openSentStatements(): Promise<SentStatements> {
  const service = await openService({ scene: true, config: { features: { findings: true, financing: true } } });
  const server = await connect(service.connections.server);
  const { database } = service.services;
  const { together } = database;
  let sent: Statement<unknown>[][] = [];
  database.together = (...statements) => {
    sent.push([...statements]);
    return together(...statements);
  };
  return {
    service,
    server,
    async sentBy(ask) {
      sent = [];
      await ask();
      return sent;
    },
    async close() {
      await server.end();
      await service.close();
    },
  };
}
