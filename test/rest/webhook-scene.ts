/** A brokerage with a key that manages webhooks, a real receiver, and two nodes that deliver. */

import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { publishChanges } from '../../server/domain/events/changes.ts';
import { queueWebhooks } from '../../server/domain/webhooks/deliveries.ts';
import { openWebhooks, type WebhookDelivery } from '../../server/webhooks/delivery.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage, type Key } from './scene.ts';

interface Verifier {
  verify(body: string, headers: http.IncomingHttpHeaders): unknown;
  sign(id: string, at: Date, body: string): string;
}
/** The library of Standard Webhooks, as receivers use it. */
export const { Webhook } = createRequire(import.meta.url)('standardwebhooks') as {
  Webhook: new (secret: string) => Verifier;
};

export interface Received {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  readonly event: { id: string; type: string; objectId: string; data: { displayName: string } | null };
}

export interface Made {
  id: string;
  secret: string;
  url: string;
  state: string;
  offReason: string | null;
}

interface Logged {
  id: string;
  eventId: string;
  type: string;
  state: string;
  attempts: number;
  isAgain: boolean;
  error: string | null;
  answer: { status: number; body: string | null } | null;
  request: { url: string; bytes: number } | null;
}

export const hour = 3_600_000;

type Ask = ReturnType<typeof as>;

interface Opened {
  readonly service: TestService;
  readonly tenant: Brokerage;
  readonly key: Key;
  /** A REST client that uses `key`. */
  readonly rest: Ask;
  readonly nodes: readonly WebhookDelivery[];
  /** The origin of the receiver. */
  readonly origin: string;
}

/**
 * Opens the scene before the tests of the calling file; every test begins without webhooks, and with a receiver that
 * accepts everything.
 */
export function webhookScene() {
  const received: Received[] = [];
  let opened: Opened;
  const receiver = http.createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        headers: request.headers,
        text,
        event: JSON.parse(text) as Received['event'],
      };
      received.push(one);
      scene.answering(one, response);
    });
  });

  beforeAll(async () => {
    const service = await openService({ config: { webhooksAllowLoopback: true } });
    const tenant = await brokerage(service);
    const key = await tenant.key({ scopes: ['contacts:read', 'contacts:write', 'webhooks:read', 'webhooks:write'] });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    opened = {
      service,
      tenant,
      key,
      rest: as(key, service.restUrl),
      nodes: [openWebhooks(service.services), openWebhooks(service.services)],
      origin: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    };
  });
  afterAll(async () => {
    receiver.closeAllConnections();
    receiver.close();
    await opened?.service.close();
  });
  beforeEach(() => {
    received.length = 0;
    scene.answering = (_request, response) => response.writeHead(204).end();
  });
  afterEach(async () => {
    await opened.service.sql('delete from webhook_endpoints');
  });

  const scene = {
    get service() {
      return opened.service;
    },
    get tenant() {
      return opened.tenant;
    },
    get key() {
      return opened.key;
    },
    get rest() {
      return opened.rest;
    },
    get nodes() {
      return opened.nodes;
    },
    get origin() {
      return opened.origin;
    },
    receiver,
    received,
    /** How the receiver responds. */
    answering: (_request: Received, response: http.ServerResponse): void => void response.writeHead(204).end(),
    async webhook(more: Record<string, unknown> = {}, by = opened.rest): Promise<Made> {
      const { status, body } = await by('POST', '/webhooks', { url: `${opened.origin}/in`, ...more });
      expect(status).toBe(201);
      return body as unknown as Made;
    },
    contact: async (displayName: string) =>
      (await opened.rest('POST', '/contacts', { type: 'person', displayName })).body!.id,
    /** Inserts this many contacts at once. */
    contacts: (count: number, of = opened.tenant.id) =>
      opened.service.sql(
        `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'P' || n from generate_series(1, $2::int) n`,
        [of, count],
      ),
    change: (id: string, phone: string) =>
      opened.service.sql('update contacts set phone = $2 where id = $1', [id, phone]),
    /** Publishes every committed change. */
    settle: () =>
      expect
        .poll(async () => {
          await opened.service.database.run(publishChanges());
          return (await opened.service.database.run(publishChanges())).waits;
        })
        .toBe(false),
    /** Queues deliveries of published changes without sending them. */
    async queue(): Promise<void> {
      while (await opened.service.database.run(queueWebhooks()));
    },
    /** Publishes every committed change, and delivers from both nodes at once. */
    async deliver(): Promise<void> {
      await scene.settle();
      await Promise.all(opened.nodes.map((node) => node.deliverDue()));
    },
    log: async (id: string, query = '', by = opened.rest) =>
      (await by('GET', `/webhooks/${id}/deliveries${query}`)).body as unknown as {
        data: Logged[];
        pagination: { nextCursor: string | null };
      },
  };
  return scene;
}
