/** Checks that the secrets in the database are encrypted, with keys that are configured. */

import type pg from 'pg';
import type { Config } from '../../config/config.ts';
import { runOn } from '../../database/client.ts';
import { keysOfSecrets } from '../../domain/accounts/sealed-secrets.ts';
import { openSecrets, UnknownKey } from '../../lib/secrets.ts';
import type { Findings } from './finding.ts';

/** Checks that the keys of the secrets in the database are configured. */
export async function checkSecrets(server: pg.Client, { secretsKeys }: Config, findings: Findings): Promise<void> {
  const { keyIds, firstKey } = openSecrets(secretsKeys);
  const inUse = await runOn(server, keysOfSecrets());
  const unknown = inUse.filter((id) => !keyIds.includes(id));
  if (unknown.length > 0) {
    findings.fault(
      new UnknownKey(unknown).message,
      'Find that key where the configuration is kept, or in a backup of it.',
    );
  } else if (firstKey === null) {
    findings.warning(
      "SECRETS_KEY is not set: authenticators' secrets are stored unencrypted in the database and in its backups.",
      'Set it to the output of openssl rand -base64 32, keep a copy apart from the database, restart every node with it, and then run dealkeep secrets rotate.',
    );
  } else if (inUse.length !== 1 || inUse[0] !== firstKey) {
    findings.warning(
      'Some secrets are not encrypted with the first key of SECRETS_KEY yet.',
      'Once every node has been restarted with that key, run dealkeep secrets rotate.',
    );
  } else findings.ok('Secrets are encrypted, and their keys are configured.');
}
