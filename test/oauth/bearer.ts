/** Whether an access token opens the tool server, by the function with which the tool server enters. */

import { enterWithAccessToken, digestOf } from '../../server/domain/clients/tokens.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import type { TestService } from '../harness.ts';

/** The scopes that the token opens the tool server with, or null. */
export async function scopesOf(service: TestService, accessToken: string): Promise<string[] | null> {
  const caller = await service.database.run(
    enterWithAccessToken(digestOf(accessToken), canonicalResource(service.config.baseUrl)),
  );
  return caller?.scopes ?? null;
}
