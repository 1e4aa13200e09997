/** Certificates for hosts that the tests start. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Whether certificates can be made here: openssl is needed. */
export const canCertify = spawnSync('openssl', ['version']).status === 0;

/** A private key and a self-signed certificate for a host name, as PEM. */
export function certificateFor(name: string): { key: string; cert: string } {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'dealkeep-certificate-'));
  const [key, cert] = [path.join(directory, 'key.pem'), path.join(directory, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const of = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  spawnSync('openssl', ['req', ...kind, ...of, '-keyout', key, '-out', cert]);
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(directory, { recursive: true });
  return made;
}
