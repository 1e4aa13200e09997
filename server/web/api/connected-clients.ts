/** Connected clients: registering, changing, sharing, disconnecting and deleting them. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import {
  changeClient,
  connectedClient,
  connectedClients,
  createClient,
  deleteClient,
  disableClient,
  disconnectClient,
  shareClient,
  type ConnectedClient,
  type TakenDocuments,
} from '../../domain/clients/connected-clients.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { clientPresets, redirectUriFaults } from '../../domain/clients/redirect-uris.ts';
import { canonicalResource } from '../../http/resource-metadata.ts';
import { originOf } from '../../http/origin.ts';
import { withPerson } from '../../http/person.ts';
import { notAllowed, nothingThere } from '../../http/problem.ts';
import { body, id, pathId, visibleLine } from './input.ts';

const Details = z.strictObject({
  name: visibleLine(lengths.connected_clients.name),
  redirect_uris: z.array(z.string().trim()).superRefine((uris, context) => {
    const faults = redirectUriFaults(uris).map(({ index, message }) =>
      index < 0 ? message : `${uris[index]}: ${message}`,
    );
    if (faults.length > 0) context.addIssue({ code: 'custom', message: faults.join(' ') });
  }),
});
const Share = z.strictObject({ brokerage_id: id.nullable() });
const Switch = z.strictObject({ disabled: z.boolean('Send true or false.') });

/** The routes of connected clients. `isTaken` returns whether a client with a metadata document is accepted. */
export function connectedClientRoutes(services: Services, isTaken: TakenDocuments) {
  const shown = (client: ConnectedClient, userId: string) => ({
    id: client.id,
    client_id: client.metadata_url ?? client.id,
    metadata_url: client.metadata_url,
    name: client.name,
    redirect_uris: client.redirect_uris,
    disabled: client.disabled,
    refused: client.metadata_url !== null && isTaken !== null && !isTaken(client.metadata_url),
    brokerage_id: client.brokerage_id,
    brokerage_name: client.brokerage_name,
    registered_by_name: client.created_by_name,
    mine: client.created_by === userId,
    can_manage: client.manageable,
    created_at: client.created_at,
    scopes: client.scopes ?? [],
    connected_at: client.connected_at,
    last_used_at: client.last_used_at,
  });

  /**
   * Makes the change and responds with the client after it. Throws 403 when the person sees the client but may not make
   * this change.
   */
  const change = async (c: Context, statement: Statement<boolean>) => {
    const clientId = pathId(c);
    const [person, , changed, client] = await withPerson(
      services,
      c,
      requireVisible('connected_clients', clientId),
      statement,
      connectedClient(clientId),
    );
    if (!changed) throw notAllowed();
    return client ? c.json(shown(client, person.user_id)) : c.body(null, 204);
  };

  return new Hono()
    .get('/clients', async (c) => {
      const [person, clients] = await withPerson(services, c, connectedClients());
      return c.json({
        items: clients.map((client) => shown(client, person.user_id)),
        presets: clientPresets.map(({ id: preset, name, redirectUris, byDocument }) => ({
          id: preset,
          name,
          redirect_uris: redirectUris,
          // With pinned documents only the operator knows which hosts identify themselves; a registered client works
          // for every host.
          by_document: byDocument && services.config.clientMetadata.mode === 'on',
        })),
        tool_server: canonicalResource(services.config.baseUrl),
      });
    })

    .post('/clients', body(Details), async (c) => {
      const { name, redirect_uris } = c.req.valid('json');
      const [, made] = await withPerson(services, c, createClient({ name, redirectUris: redirect_uris }, originOf(c)));
      const [person, client] = await withPerson(services, c, connectedClient(made ?? ''));
      if (!client) throw nothingThere();
      return c.json(shown(client, person.user_id), 201);
    })

    .patch('/clients/:id', body(Details.partial()), async (c) => {
      const { name, redirect_uris } = c.req.valid('json');
      return change(c, changeClient(pathId(c), { name, redirectUris: redirect_uris }, originOf(c)));
    })

    .post('/clients/:id/share', body(Share), async (c) => {
      const { brokerage_id } = c.req.valid('json');
      return change(c, shareClient(pathId(c), brokerage_id, originOf(c)));
    })

    .post('/clients/:id/switch', body(Switch), async (c) => {
      const { disabled } = c.req.valid('json');
      return change(c, disableClient(pathId(c), disabled, originOf(c)));
    })

    .delete('/clients/:id', (c) => change(c, deleteClient(pathId(c), originOf(c))))

    .post('/clients/:id/disconnect', async (c) => {
      const clientId = pathId(c);
      // Disconnecting again is not an error.
      const [person, , , client] = await withPerson(
        services,
        c,
        requireVisible('connected_clients', clientId),
        disconnectClient(clientId, originOf(c)),
        connectedClient(clientId),
      );
      if (!client) throw nothingThere();
      return c.json(shown(client, person.user_id));
    });
}
