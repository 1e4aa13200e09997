/**
 * Identifies the client of a request to the token or revocation endpoint, by its client_id and the credential it
 * presents.
 */

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
  /** The id of the client's record. */
  readonly id: string;
  /**
   * Runs a statement for the client. Resolves to invalid_client when the presented client_id is only the record id of a
   * client by its document; for a client by its document to invalid_grant instead of invalid_client.
   */
  run<T>(statement: Statement<T>): Promise<T | 'invalid_client' | 'invalid_grant'>;
}

/**
 * The client of a request. A client by its document has one record for each person: the one that the credential was
 * issued to counts; null when it was issued to none. Throws invalid_client for a client_id that no client can have.
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
  // Counted under the digest, which has a fixed length: the URL may be long.
  if (id === null) await countFailure(services, c, digestOf(named).toString('base64url'));
  if (id === null) return null;
  return {
    id,
    // Deleted or turned off was only what this person has of the client. Its client_id stays known: a host that were
    // told otherwise would not ask the person again.
    run: async (statement) => {
      const answer = await database.run(presenting(digest, statement));
      return answer === 'invalid_client' ? 'invalid_grant' : answer;
    },
  };
}
