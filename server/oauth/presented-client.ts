/** Which client a request to the token or revocation endpoint is from, by its client_id and what it presents. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { clientIsByDocument, clientOfGrant } from '../domain/clients/authorization.ts';
import { digestOf } from '../domain/clients/tokens.ts';
import { isDocumentUrl } from './client-documents.ts';
import { countFailure } from './limits.ts';
import { grantError } from './oauth-error.ts';
import { asClientId, type Parameters } from './parameters.ts';

/**
 * The id of the client's record. A client that says who it is by a document has one for each person: that is the one which the credential was
 * issued to; null when it was issued to none of them. Throws invalid_client for a client_id that no client can have, and for the id of such a record.
 */
export async function presentedClient(
  services: Services,
  c: Context,
  parameters: Parameters,
  credential: string,
): Promise<string | null> {
  const named = parameters.one('client_id');
  if (named === undefined || !isDocumentUrl(named)) {
    const id = asClientId(named);
    if (id === null) throw grantError('invalid_client');
    if (await services.database.run(clientIsByDocument(id))) {
      await countFailure(services, c, id);
      throw grantError('invalid_client');
    }
    return id;
  }
  const id = await services.database.run(clientOfGrant(named, digestOf(credential)));
  // Counted under a key of its own length: the address may be long.
  if (id === null) await countFailure(services, c, digestOf(named).toString('base64url'));
  return id;
}
