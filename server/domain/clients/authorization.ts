/**
 * Consent to a client, and the authorization code that it leads to: which clients may ask, the decision, and the
 * exchange of the code for tokens.
 */

import { createHash } from 'node:crypto';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Scope } from './connected-clients.ts';
import type { Origin } from '../audit/audited.ts';
import type { GrantFault, MintedTokens } from './tokens.ts';

/** The facts about a client that are needed before anything is shown or redirected. */
export interface AuthorizingClient {
  redirect_matches: boolean;
  /** Whether the client works for the caller; false while nobody is signed in. The names are null when it does not. */
  works: boolean;
  name: string | null;
  registered_by: string | null;
  registered_by_caller: boolean;
  /** The name of the brokerage that the client is shared with. */
  shared_with: string | null;
  registered_at: string;
}

/** The client with this id; null when it does not exist or is disabled or deleted. */
export const authorizingClient = row<AuthorizingClient, [clientId: string, redirectUri: string]>(
  'authorizing_client',
  `select redirect_matches, works, name, registered_by, registered_by_caller, shared_with, registered_at
   from app.authorizing_client($1, $2)`,
);

/** The caller's own client for a client metadata document. */
export interface KnownDocumentClient {
  id: string;
  name: string;
  redirect_uris: string[];
  disabled: boolean;
  created_at: string;
}

/**
 * The caller's own client for the document at this URL; null when they have not approved it yet, or have deleted it.
 */
export const documentClient = row<KnownDocumentClient, [url: string]>(
  'document_client',
  'select id, name, redirect_uris, disabled, created_at from app.document_client($1)',
);

/** The names of the caller's brokerages, in alphabetical order. */
export const ownBrokerageNames: () => Statement<string[]> = () =>
  mapped(brokerageNames(), (found) => found.map(({ name }) => name));

const brokerageNames = rows<{ name: string }, []>(
  'own_brokerage_names',
  `select name from brokerages where id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[]) order by app.folded(name), id`,
);

/** The PKCE challenge of a verifier by S256 (RFC 7636, section 4.6), or '' when the verifier is malformed. */
export function challengeOf(verifier: string): string {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return '';
  return createHash('sha256').update(verifier).digest('base64url');
}

/** What a client asks a person to consent to. */
export interface Consent {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
  /** Digest of the nonce that identifies one display of the consent page. */
  readonly consent: Buffer;
}

export type Approval = 'issued' | 'signed_out' | 'client_refused' | 'sign_in_again' | 'answered';
export type Denial = 'denied' | 'signed_out' | 'client_refused';

const approve = row<{ outcome: Approval }>(
  'approve_client',
  'select app.approve_client($1, $2, $3, $4, $5, $6, $7, $8, $9) as outcome',
);

/**
 * Records that the caller approves, with the `scopes` that they selected; `code` is the digest of the code for the
 * client. `client_refused`: the client is gone, is not available to the caller, or has another redirect URI;
 * `answered`: the same consent page has led to tokens before.
 */
export function approveClient(asked: Consent, code: Buffer, from: Origin): Statement<Approval> {
  const { clientId, redirectUri, challenge, scopes, resource, consent } = asked;
  return mapped(
    approve(clientId, redirectUri, challenge, scopes, resource, consent, code, from.address, from.requestId),
    (answer) => answer?.outcome ?? 'signed_out',
  );
}

const approveDocument = row<{ outcome: Approval }>(
  'approve_document_client',
  'select app.approve_document_client($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as outcome',
);

/** The content of a client metadata document, as shown to the person. */
export interface DocumentDetails {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/**
 * Like {@link approveClient}, for a client with a metadata document, whose URL is `clientId`: creates or updates the
 * caller's own client for it.
 */
export function approveDocumentClient(
  asked: Consent,
  { name, redirectUris }: DocumentDetails,
  code: Buffer,
  from: Origin,
): Statement<Approval> {
  const { clientId, redirectUri, challenge, scopes, resource, consent } = asked;
  const given = [name, redirectUris, redirectUri, challenge, scopes, resource, consent, code] as const;
  return mapped(
    approveDocument(clientId, ...given, from.address, from.requestId),
    (answer) => answer?.outcome ?? 'signed_out',
  );
}

const denyDocument = row<{ outcome: Denial }>(
  'deny_document_client',
  'select app.deny_document_client($1, $2, $3, $4) as outcome',
);

/** Records that the caller denies a client with a metadata document; the client is not stored. */
export function denyDocumentClient({ clientId, scopes }: Consent, from: Origin): Statement<Denial> {
  return mapped(
    denyDocument(clientId, scopes, from.address, from.requestId),
    (answer) => answer?.outcome ?? 'signed_out',
  );
}

const ofGrant = row<{ id: string | null }, [url: string, presented: Buffer]>(
  'client_of_grant',
  'select app.client_of_grant($1, $2) as id',
);

/** The client for the document at `url` to which the code or token with this digest was issued, or null. */
export const clientOfGrant = (url: string, presented: Buffer): Statement<string | null> =>
  mapped(ofGrant(url, presented), (found) => found?.id ?? null);

const refuseByDocument = row<object, [clientId: string]>(
  'refuse_client_by_document',
  'select app.refuse_client_by_document($1)',
);

/**
 * Rejects with `invalid_client` when this is the record id of a client with a metadata document: its only client_id is
 * the URL of the document.
 */
export const refuseClientByDocument = (clientId: string): Statement<void> =>
  mapped(refuseByDocument(clientId), () => {});

const documentOfCaller = row<{ metadata_url: string | null }, []>(
  'document_of_caller',
  'select metadata_url from connected_clients where id = (select app.client_id())',
);

/**
 * The URL of the calling client's metadata document; null for a registered client. Must follow a statement that enters
 * with its token.
 */
export const callersDocument = (): Statement<string | null> =>
  mapped(documentOfCaller(), (found) => found?.metadata_url ?? null);

const deny = row<{ outcome: Denial }>('deny_client', 'select app.deny_client($1, $2, $3, $4, $5) as outcome');

/** Records that the caller denies the client. */
export function denyClient({ clientId, redirectUri, scopes }: Consent, from: Origin): Statement<Denial> {
  return mapped(
    deny(clientId, redirectUri, scopes, from.address, from.requestId),
    (answer) => answer?.outcome ?? 'signed_out',
  );
}

interface PresentedCode {
  readonly clientId: string;
  readonly code: Buffer;
  readonly redirectUri: string;
  /** The result of {@link challengeOf}. */
  readonly challenge: string;
  /** Null: the resource of the code. */
  readonly resource: string | null;
}

const redeem = row<{ outcome: 'issued' | GrantFault; scopes: Scope[] | null }>(
  'redeem_code',
  'select outcome, scopes from app.redeem_code($1, $2, $3, $4, $5, $6, $7, $8, $9)',
);

/**
 * Exchanges a code for `tokens`, once; a second use with a correct verifier revokes the tokens that the first one
 * issued.
 */
export function redeemCode(
  presented: PresentedCode,
  tokens: MintedTokens,
  from: Origin,
): Statement<Scope[] | GrantFault> {
  const { clientId, code, redirectUri, challenge, resource } = presented;
  return mapped(
    redeem(
      clientId,
      code,
      redirectUri,
      challenge,
      resource,
      tokens.access.digest,
      tokens.refresh.digest,
      from.address,
      from.requestId,
    ),
    (answer) => (answer?.outcome === 'issued' ? (answer.scopes ?? []) : (answer?.outcome ?? 'invalid_grant')),
  );
}
