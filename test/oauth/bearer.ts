/** Whether the tool server accepts an access token, checked with the function by which the tool server enters. */

import { enterWithAccessToken, digestOf } from '../../server/domain/clients/tokens.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import type { TestService } from '../harness.ts';

/** The scopes with which the tool server accepts the token; null if it does not. */
export async function scopesOf(service: TestService, accessToken: string): Promise<string[] | null> {
  const caller = await service.database.run(
    enterWithAccessToken(digestOf(accessToken), canonicalResource(service.config.baseUrl)),
  );
  return caller?.scopes ?? null;
}
