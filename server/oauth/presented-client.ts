/** Which client a request to the token or revocation endpoint is from, by its client_id and what it presents. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { clientOfGrant, refuseClientByDocument } from '../domain/clients/authorization.ts';
import { digestOf } from '../domain/clients/tokens.ts';
import { Refusal } from '../database/errors.ts';
import { presenting, type Statement } from '../database/statement.ts';
import { isDocumentUrl } from './client-documents.ts';
import { countFailure } from './limits.ts';
import { grantError } from './oauth-error.ts';
import { asClientId, type Parameters } from './parameters.ts';

export interface PresentedClient {
  /** That of its record. */
  readonly id: string;
  /** Carries out what it asks for, unless it presents the id of a record that is no client_id. */
  run<T>(statement: Statement<T>): Promise<T | 'invalid_client'>;
}

/**
 * A client that says who it is by a document has a record for each person: that is the one which the credential was issued to; null when it
 * was issued to none of them. Throws invalid_client for a client_id that no client can have.
 */
export async function presentedClient(
  services: Services,
  c: Context,
  parameters: Parameters,
  credential: string,
): Promise<PresentedClient | null> {
  const { database } = services;
  const digest = digestOf(credential);
  const named = parameters.one('client_id');
  if (named === undefined || !isDocumentUrl(named)) {
    const id = asClientId(named);
    if (id === null) throw grantError('invalid_client');
    return {
      id,
      run: (statement) =>
        database.together(presenting(digest, refuseClientByDocument(id)), statement).then(
          ([, answer]) => answer,
          (error: unknown) => {
            if (error instanceof Refusal && error.reason === 'invalid_client') return 'invalid_client';
            throw error;
          },
        ),
    };
  }
  const id = await database.run(presenting(digest, clientOfGrant(named, digest)));
  // Counted under a key of its own length: the address may be long.
  if (id === null) await countFailure(services, c, digestOf(named).toString('base64url'));
  return id === null ? null : { id, run: (statement) => database.run(presenting(digest, statement)) };
}
