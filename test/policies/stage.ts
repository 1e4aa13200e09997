/** A database that holds the scene of docs/visibility.md, and the two connections that the policy checks use. */

import pg from 'pg';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { setParticulars } from './particulars-scene.ts';
import { connect, type Scene, type Stage } from './scene.ts';

export interface Connections {
  readonly owner: pg.ClientConfig;
  readonly server: pg.ClientConfig;
}

/** An id that no deal has. */
const nowhere = '00000000-0000-0000-0000-000000000000';

// SQL functions that the checks need beyond those of the service: entering without a credential, through a client, in a
// session, kept out of a brokerage or narrowed to a deal; making a token to enter with; and trying many statements in
// one round trip, each rolled back. `attempts` runs with its caller's rights, under every policy, and returns how many
// rows each statement touched, -1 if it was refused, and null if it failed for another reason, with the error. `as_owner` runs one
// statement past every policy, with that person entered, and returns its value, or how many rows it touched.
const helpers = `
  create function app.enter_as(user_id uuid) returns void
  language sql volatile security definer set search_path = '' as $$ select app.enter(user_id, null, null, null, null) $$;
  create function app.enter_as(user_id uuid, key_id uuid, brokerage_id uuid) returns void
  language sql volatile security definer set search_path = '' as $$
    select app.enter(user_id, null, key_id, brokerage_id, case when key_id is not null
      then '{contacts:read,contacts:write,events:read,webhooks:read,webhooks:write}'::text[] || app.deal_scopes() end)
  $$;
  create function app.enter_as_key(key_id uuid, brokerage_id uuid, scopes text[], deal_id uuid) returns void
  language plpgsql volatile security definer set search_path = '' as $$
  begin
    perform app.enter(null, null, key_id, brokerage_id, scopes);
    if deal_id is not null then
      perform app.seal(app.identity() || ',' || app.standing_of_key(brokerage_id, scopes, deal_id));
    end if;
  end
  $$;
  create function app.enter_through(user_id uuid, client_id uuid, session_id uuid, barred uuid[]) returns void
  language sql volatile security definer set search_path = '' as $$
    select app.enter(user_id, client_id, null, null, null, session_id, barred)
  $$;
  create function app.enter_within(user_id uuid, deal_id uuid) returns void
  language sql volatile security definer set search_path = '' as $$
    select app.enter_as_person(enter_within.user_id, null, null, null, true, m.asking, m.administered, 'deals', enter_within.deal_id)
    from app.memberships_of(enter_within.user_id) m
  $$;
  create function app.token_of(person uuid) returns bytea
  language plpgsql volatile security definer set search_path = '' as $$
  declare
    client uuid;
    family uuid;
  begin
    insert into public.connected_clients (created_by, name, redirect_uris) values (person, 'Assistant', '{https://client.example/callback}')
      returning id into client;
    insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
      values (person, client, '{mcp:read}', 'https://tools.example', app.now(), app.now() + interval '1 day') returning id into family;
    insert into vault.access_tokens (digest, family_id, scopes, expires_at)
      values (sha256(family::text::bytea), family, '{mcp:read}', app.now() + interval '1 hour');
    return sha256(family::text::bytea);
  end
  $$;
  create function app.attempts(statements text[]) returns table (touched bigint, failure text)
  language plpgsql volatile set search_path = public as $$
  declare
    statement text;
  begin
    foreach statement in array statements loop
      begin
        failure := null;
        execute statement;
        get diagnostics touched = row_count;
        raise exception using errcode = 'DK999';
      exception
        when sqlstate 'DK999' then null;
        when insufficient_privilege or sqlstate 'DK001' then
          touched := -1;
          failure := sqlstate || ' ' || sqlerrm;
        when others then
          touched := null;
          failure := sqlstate || ' ' || sqlerrm;
      end;
      return next;
    end loop;
  end
  $$;
  create function app.as_owner(statement text, person uuid) returns jsonb
  language plpgsql volatile security definer set search_path = '' as $$
  declare
    result jsonb;
    touched bigint;
  begin
    if person is null then
      perform set_config('dealkeep.identity', '', true);
    else
      perform app.enter_as(person);
    end if;
    perform set_config('search_path', 'public', true);
    if statement ~* '^select |returning' then
      execute statement into result;
      return result;
    end if;
    execute statement;
    get diagnostics touched = row_count;
    return to_jsonb(touched);
  end
  $$;
  grant execute on function app.enter_as(uuid), app.enter_as(uuid, uuid, uuid), app.enter_through(uuid, uuid, uuid, uuid[]),
    app.enter_within(uuid, uuid), app.enter_as_key(uuid, uuid, text[], uuid),
    app.token_of(uuid), app.attempts(text[]), app.as_owner(text, uuid) to dealkeep_server`;

/** Prepares a database that holds the scene for the checks; returns the ids of its records. */
export async function prepareStage(owner: pg.ClientBase, scene: Scene): Promise<Pick<Stage, 'scene' | 'particulars'>> {
  const particulars = await setParticulars(owner, scene);
  await owner.query(helpers);
  return { scene, particulars };
}

/** Connects to a database that is prepared already. */
export async function enterStage(
  connections: Connections,
  prepared: Pick<Stage, 'scene' | 'particulars'>,
): Promise<Stage> {
  return { owner: await connect(connections.owner), server: await connect(connections.server), ...prepared };
}

/** Prepares the database and connects to it. */
export async function openStage(connections: Connections, scene: Scene): Promise<Stage> {
  const owner = await connect(connections.owner);
  const prepared = await prepareStage(owner, scene);
  return { owner, server: await connect(connections.server), ...prepared };
}

/** Closes the connections of a stage. */
export async function leaveStage({ owner, server }: Stage): Promise<void> {
  await Promise.all([owner.end(), server.end()]);
}

/**
 * Enters as the caller until the transaction ends. The callers include an API key with every scope, and nobody at all.
 */
export async function enter({ server, scene }: Stage, caller: string): Promise<void> {
  if (caller === 'API key') await server.query('select app.enter_as(null, $1, $2)', [scene.key, scene.brokerage]);
  else if (caller !== 'nobody') await server.query('select app.enter_as($1, null, null)', [scene.people[caller]]);
}

/** Enters as an API key of a brokerage with these scopes; narrows the transaction to a deal if one is named. */
export async function enterAsKey(
  { server, scene }: Stage,
  scopes: readonly string[],
  { brokerage = scene.brokerage, deal = null }: { brokerage?: string; deal?: string | null } = {},
): Promise<void> {
  await server.query('select app.enter_as_key($1, $2, $3, $4)', [scene.key, brokerage, scopes, deal]);
}

/** Enters as a person, or as an API key with every scope, with the transaction narrowed to a deal. */
export async function enterWithin(stage: Stage, caller: string, deal: string | null): Promise<void> {
  const { server, scene } = stage;
  if (caller === 'API key') await enterAsKey(stage, keyScopes, { deal: deal ?? nowhere });
  else await server.query('select app.enter_within($1, $2)', [scene.people[caller], deal]);
}
