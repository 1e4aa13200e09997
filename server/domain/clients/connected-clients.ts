/**
 * Connected clients: programs that a person allows to use the tool server on their behalf (specification, section 5.2).
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import { nameInBrokerage } from '../people/former-names.ts';

export type Scope = 'mcp:read' | 'mcp:write';

/** All scopes, in increasing order (specification, section 5.3). */
export const scopes: readonly Scope[] = ['mcp:read', 'mcp:write'];

export interface ConnectedClient {
  /** Also the OAuth client_id of a client that was registered here. */
  id: string;
  name: string;
  redirect_uris: string[];
  /**
   * The URL of the client's metadata document, which is then the OAuth client_id; null when the client was registered
   * here.
   */
  metadata_url: string | null;
  disabled: boolean;
  created_by: string;
  created_by_name: string | null;
  /** The brokerage that the client is shared with; null when it works only for its creator. */
  brokerage_id: string | null;
  brokerage_name: string | null;
  created_at: string;
  updated_at: string;
  /** Whether the caller may change, share and delete the client. */
  manageable: boolean;
  /** The caller's current connection with the client: all null without a connection. */
  scopes: Scope[] | null;
  connected_at: string | null;
  last_used_at: string | null;
}

/** Returns whether this service accepts a client by the URL of its metadata document; null: all are accepted. */
export type TakenDocuments = ((url: string) => boolean) | null;

const clientFields = `c.id, c.name, c.redirect_uris, c.metadata_url, c.disabled, c.created_by, ${nameInBrokerage('u', 'c.created_by', 'c.brokerage_id')} as created_by_name, c.brokerage_id,
  b.name as brokerage_name, c.created_at, c.updated_at,
  case when c.brokerage_id is null then c.created_by = (select app.user_id())
    else c.brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]) end as manageable,
  n.scopes, n.connected_at, n.last_used_at`;
const clientTables = `connected_clients c
  left join users u on u.id = c.created_by
  left join brokerages b on b.id = c.brokerage_id
  left join app.connections() n on n.client_id = c.id`;

/** Maximum number of listed clients. */
export const mostClients = 500;

/**
 * The clients that the caller created or that are shared with one of their brokerages, newest first, at most
 * {@link mostClients}; clients that the caller created or is connected with take precedence over others.
 */
export const connectedClients = rows<ConnectedClient, []>(
  'connected_clients',
  `select * from (
     select ${clientFields} from ${clientTables}
     order by c.created_by = (select app.user_id()) or n.client_id is not null desc, c.created_at desc, c.id desc limit ${mostClients}) c
   order by c.created_at desc, c.id desc`,
);

/** One of these clients, or null. */
export const connectedClient = row<ConnectedClient, [id: string]>(
  'connected_client',
  `select ${clientFields} from ${clientTables} where c.id = $1`,
);

interface ClientDetails {
  readonly name: string;
  /** Validated by redirectUriFaults beforehand; the database also rejects invalid ones. */
  readonly redirectUris: readonly string[];
}

const create = row<{ id: string }>(
  'create_connected_client',
  `with made as (insert into connected_clients (name, redirect_uris) values ($1, $2) returning id)
   select id, app.audit('client.create', id::text, 'done', app.only_brokerage(), null, $3, $4, '{}') from made`,
);

/** Creates a client of the caller and returns its id. Rejected with `too_many_clients`. */
export function createClient({ name, redirectUris }: ClientDetails, from: Origin): Statement<string | null> {
  return mapped(create(name, redirectUris, from.address, from.requestId), (made) => made?.id ?? null);
}

/**
 * SQL: the brokerage whose admins can read the audit records of a client: the one that it is shared with, otherwise the
 * only brokerage of the person (docs/authorization.md).
 */
const filedUnder = 'coalesce(brokerage_id, app.only_brokerage())';

/** SQL for the schemes and hosts of redirect URIs: what audit records keep of them. */
const hostsOf = (uris: string): string =>
  `to_jsonb(array(select distinct substring(uri from '^[^/?#]*(?://[^/?#]*)?') from unnest(${uris}) uri order by 1))`;

const change = row<{ id: string }>(
  'change_connected_client',
  `with changed as (
     update connected_clients c set name = coalesce($2, c.name), redirect_uris = coalesce($3, c.redirect_uris)
     from (select id, name, redirect_uris from connected_clients where id = $1 for no key update) held
     where c.id = held.id returning c.id, c.brokerage_id, c.redirect_uris, held.redirect_uris as before, array_remove(array[
       case when c.name <> held.name then 'name' end,
       case when c.redirect_uris <> held.redirect_uris then 'redirect_uris' end], null) as fields)
   select id, app.audit('client.change', id::text, 'done', ${filedUnder}, null, $4, $5, jsonb_build_object('changed', fields)
     || case when redirect_uris <> before then jsonb_build_object('hosts_before', ${hostsOf('before')}, 'hosts', ${hostsOf('redirect_uris')}) else '{}' end)
   from changed`,
);

/** Changes the given fields of a client that the caller manages; false when there is no such client. */
export function changeClient(
  id: string,
  details: { [K in keyof ClientDetails]?: ClientDetails[K] | undefined },
  from: Origin,
): Statement<boolean> {
  return mapped(
    change(id, details.name, details.redirectUris, from.address, from.requestId),
    (found) => found !== null,
  );
}

const add = row<{ id: string }>(
  'add_redirect_uri',
  `with changed as (update connected_clients set redirect_uris = redirect_uris || $2::text
     where id = $1 and metadata_url is null and not $2 = any (redirect_uris) returning id, brokerage_id)
   select id, app.audit('client.change', id::text, 'done', ${filedUnder}, null, $3, $4,
     jsonb_build_object('changed', array['redirect_uris'], 'hosts', ${hostsOf('array[$2::text]')})) from changed`,
);

/**
 * Adds a redirect URI to a client that the caller manages; false when there is no such client, or it already has the
 * URI.
 */
export function addRedirectUri(id: string, uri: string, from: Origin): Statement<boolean> {
  return mapped(add(id, uri, from.address, from.requestId), (found) => found !== null);
}

const disable = row<{ id: string }>(
  'disable_connected_client',
  `with changed as (update connected_clients set disabled = $2 where id = $1 returning id, brokerage_id)
   select id, app.audit(case when $2 then 'client.disable' else 'client.enable' end, id::text, 'done',
     ${filedUnder}, null, $3, $4, '{}') from changed`,
);

/** Disables or enables a client that the caller manages; false when there is no such client. */
export function disableClient(id: string, disabled: boolean, from: Origin): Statement<boolean> {
  return mapped(disable(id, disabled, from.address, from.requestId), (found) => found !== null);
}

const share = row<{ id: string }>(
  'share_connected_client',
  `with before as (select brokerage_id from connected_clients where id = $1),
     changed as (update connected_clients set brokerage_id = $2 where id = $1 returning id)
   select id, app.audit(case when $2::uuid is null then 'client.unshare' else 'client.share' end, id::text, 'done',
     coalesce($2, (select brokerage_id from before)), null, $3, $4, '{}') from changed`,
);

/**
 * Shares a client with a brokerage of which the caller is an admin, or with null stops sharing it; false when the
 * caller manages no such client. Rejects with Denied for another brokerage, and for unsharing a client that another
 * person created.
 */
export function shareClient(id: string, brokerageId: string | null, from: Origin): Statement<boolean> {
  return mapped(share(id, brokerageId, from.address, from.requestId), (found) => found !== null);
}

const remove = row<{ done: boolean }>('delete_connected_client', 'select app.delete_client($1, $2, $3) as done');

/** Deletes a client that the caller manages and ends every connection with it; false when there is no such client. */
export function deleteClient(id: string, from: Origin): Statement<boolean> {
  return mapped(remove(id, from.address, from.requestId), (answer) => answer?.done ?? false);
}

const disconnect = row<{ done: boolean }>('disconnect_client', 'select app.disconnect_client($1, $2, $3) as done');

/** Ends the caller's own connection with a client: its tokens and its tool grants; false when there was none. */
export function disconnectClient(id: string, from: Origin): Statement<boolean> {
  return mapped(disconnect(id, from.address, from.requestId), (answer) => answer?.done ?? false);
}
