/** Whether an access token opens the tool server, by the function with which the tool server enters. */

import { enterWithAccessToken, digestOf } from '../../server/domain/tokens.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import type { TestHouse } from '../harness.ts';

/** The scopes that the token opens the tool server with, or null. */
export async function scopesOf(house: TestHouse, accessToken: string): Promise<string[] | null> {
  const caller = await house.database.run(
    enterWithAccessToken(digestOf(accessToken), canonicalResource(house.config.baseUrl)),
  );
  return caller?.scopes ?? null;
}
