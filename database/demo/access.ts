/** Access to the demo: API keys, each lead's connected client, and what they allow their client to do. */

import { mintApiKey, type KeyEnvironment } from '../../server/domain/clients/api-keys.ts';
import { keyScopes, type KeyScope } from '../../server/domain/clients/key-scopes.ts';
import { writingTools } from '../../server/tools/catalog/index.ts';
import { audit } from './audit.ts';
import { ago, type RelativeTime } from './relative-times.ts';
import type { BrokerageKey, PersonKey } from './people.ts';
import type { LoadContext } from './deal-rows.ts';

/** The redirect URI of the demo's connected clients: a program on the same machine. */
export const redirectUri = 'http://127.0.0.1:8765/callback';

interface Key {
  readonly brokerage: BrokerageKey;
  readonly by: PersonKey;
  readonly name: string;
  readonly environment: KeyEnvironment;
  readonly scopes: readonly KeyScope[];
  readonly ceiling?: number;
  readonly made: RelativeTime;
  readonly expires?: RelativeTime;
  readonly revoked?: RelativeTime;
  readonly used?: RelativeTime;
}

const contacts: readonly KeyScope[] = ['contacts:read', 'contacts:write'];

const keys = {
  full: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Back office',
    environment: 'live',
    scopes: keyScopes,
    made: ago(60, '15:40'),
    used: ago(1, '20:05'),
  },
  inquiry_form: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Inquiry form of the website',
    environment: 'live',
    scopes: ['contacts:write'],
    made: ago(60, '15:10'),
    used: ago(1, '19:25'),
  },
  read_only: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Weekly report',
    environment: 'live',
    scopes: ['contacts:read'],
    made: ago(58, '16:30'),
    used: ago(5, '14:00'),
  },
  other_brokerage: {
    brokerage: 'pelicanQuay',
    by: 'camille',
    name: 'Mailing list',
    environment: 'live',
    scopes: contacts,
    made: ago(40, '17:15'),
    used: ago(5, '17:05'),
  },
  expired: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Move from the old address book',
    environment: 'live',
    scopes: contacts,
    made: ago(210, '14:20'),
    expires: ago(120, '14:20'),
    used: ago(171, '19:45'),
  },
  revoked: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Phone system',
    environment: 'live',
    scopes: contacts,
    made: ago(150, '15:40'),
    revoked: ago(45, '13:35'),
    used: ago(46, '20:50'),
  },
  small_ceiling: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Spreadsheet, twenty requests a minute',
    environment: 'test',
    scopes: contacts,
    ceiling: 20,
    made: ago(30, '18:00'),
  },
  sandbox: {
    brokerage: 'bramwellOakes',
    by: 'judith',
    name: 'Trying out the API',
    environment: 'test',
    scopes: keyScopes,
    made: ago(59, '15:00'),
    used: ago(2, '16:20'),
  },
} as const satisfies Record<string, Key>;

export type KeyName = keyof typeof keys;

/** Adds the API keys; returns the token and the id of each. */
export function issueKeys(context: LoadContext): Record<KeyName, { id: string; token: string }> {
  const { collector, calendar, userIds, brokerageIds } = context;
  const issue = (key: Key) => {
    const { name, environment, scopes, ceiling = null } = key;
    const { token, digest, lastFour } = mintApiKey(environment);
    const made = calendar.at(key.made);
    const brokerage_id = brokerageIds[key.brokerage];
    const user_id = userIds[key.by];
    const expires_at = key.expires ? calendar.at(key.expires) : null;
    const id = collector.add('api_keys', made, {
      brokerage_id,
      name,
      environment,
      scopes,
      ceiling,
      last_four: lastFour,
      expires_at,
      created_by: user_id,
      created_at: made,
      revoked_at: key.revoked ? calendar.at(key.revoked) : null,
      revoked_by: key.revoked ? user_id : null,
      last_used_at: key.used ? calendar.at(key.used) : null,
    });
    collector.put('vault.api_key_digests', { digest, key_id: id, issued_by: user_id, issued_at: made });
    const record = { user_id, brokerage_id, subject_id: id };
    audit(context, made, { ...record, action: 'api_key.create' }, { name, environment, scopes, ceiling, expires_at });
    if (key.revoked) audit(context, calendar.at(key.revoked), { ...record, action: 'api_key.revoke' });
    return { id, token };
  };
  return {
    full: issue(keys.full),
    inquiry_form: issue(keys.inquiry_form),
    read_only: issue(keys.read_only),
    other_brokerage: issue(keys.other_brokerage),
    expired: issue(keys.expired),
    revoked: issue(keys.revoked),
    small_ceiling: issue(keys.small_ceiling),
    sandbox: issue(keys.sandbox),
  };
}

/**
 * Adds a connected client of the person; returns its id, which is the OAuth client_id. `brokerageId` is the person's
 * brokerage, or null.
 */
export function connectClient(context: LoadContext, person: PersonKey, brokerageId: string | null): string {
  const { collector, calendar, userIds } = context;
  const made = calendar.at(ago(21, '15:05'));
  const id = collector.add('connected_clients', made, {
    created_by: userIds[person],
    brokerage_id: null,
    name: 'Assistant on my computer',
    redirect_uris: [redirectUri],
    created_at: made,
    updated_at: made,
    disabled: false,
  });
  audit(context, made, {
    user_id: userIds[person],
    brokerage_id: brokerageId,
    action: 'client.create',
    subject_id: id,
  });
  return id;
}

export interface Writer {
  readonly person: PersonKey;
  readonly clientId: string;
  readonly deal: { readonly id: string; readonly brokerageId: string };
  readonly brokerageId: string | null;
}

/** Grants every writing tool to the person's client, and allows writing through tools on the deal. */
export function allowWriting(context: LoadContext, { person, clientId, deal, brokerageId }: Writer): void {
  const { collector, calendar, userIds } = context;
  const user_id = userIds[person];
  const granted = calendar.at(ago(20, '14:45'));
  for (const tool of writingTools) {
    collector.put('tool_grants', { user_id, client_id: clientId, tool, expires_at: null, granted_at: granted });
    const record = { user_id, brokerage_id: brokerageId, action: 'tool_grant.on', subject_id: clientId } as const;
    audit(context, granted, record, { tool, expires_at: null });
  }
  const opted = calendar.at(ago(20, '14:52'));
  collector.put('deal_opt_ins', { user_id, deal_id: deal.id, expires_at: null, opted_in_at: opted });
  const record = { user_id, brokerage_id: deal.brokerageId, deal_id: deal.id, action: 'deal_opt_in.on' } as const;
  audit(context, opted, { ...record, subject_id: deal.id }, { expires_at: null });
}
