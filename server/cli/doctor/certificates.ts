/** Checks that certificates are valid, and for how long. */

import { isIP } from 'node:net';
import tls, { type PeerCertificate } from 'node:tls';
import type { Config } from '../../config/config.ts';
import { isHere } from '../../lib/is-here.ts';
import type { Findings } from './finding.ts';

const day = 86_400_000;
/**
 * A certificate that is valid for fewer days causes a warning: automatic renewal happens when a third of its lifetime
 * is left.
 */
const leastDays = 14;

/** Reports how long a certificate is valid. */
export function certificateFinding(what: string, certificate: PeerCertificate | undefined, findings: Findings): void {
  const ends = certificate?.valid_to ? new Date(certificate.valid_to) : null;
  if (ends === null || Number.isNaN(ends.getTime())) return;
  const days = Math.floor((ends.getTime() - Date.now()) / day);
  const until = ends.toISOString().slice(0, 10);
  const remedy = 'Renew it, and find out why it was not renewed automatically.';
  if (days < 0) findings.fault(`${what} expired on ${until}.`, remedy);
  else if (days < leastDays) findings.warning(`${what} expires on ${until}, in ${days} days.`, remedy);
  else findings.ok(`${what} is valid until ${until}.`);
}

/** Checks the certificate of the public origin, as browsers reach it. */
export async function checkCertificate({ baseUrl }: Config, findings: Findings): Promise<void> {
  const { protocol, hostname, port } = new URL(baseUrl);
  if (protocol === 'http:') {
    if (isHere(hostname)) findings.ok(`${baseUrl} is only for this machine.`);
    else
      findings.warning(
        `${baseUrl} is not https: passwords and sessions are sent unencrypted.`,
        'Put a proxy with a certificate in front (deploy/nginx.conf, deploy/haproxy.cfg), and set BASE_URL to its https address.',
      );
    return;
  }
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const { certificate, fault } = await new Promise<{ certificate?: PeerCertificate; fault?: string }>((resolve) => {
    const socket = tls.connect({
      host,
      port: Number(port || 443),
      // SNI does not allow an IP address (RFC 6066); the certificate is verified for it all the same.
      ...(isIP(host) === 0 && { servername: host }),
      // Accepts an invalid certificate, as its errors are to be reported.
      rejectUnauthorized: false,
      timeout: 10_000,
    });
    socket.once('secureConnect', () => {
      const distrust = socket.authorized ? {} : { fault: String(socket.authorizationError) };
      resolve({ certificate: socket.getPeerCertificate(), ...distrust });
      socket.destroy();
    });
    socket.once('timeout', () => {
      resolve({ fault: 'no answer within 10 s' });
      socket.destroy();
    });
    socket.once('error', (error) => resolve({ fault: error.message }));
  });
  if (certificate === undefined) {
    findings.fault(
      `${baseUrl} cannot be reached from here: ${fault}.`,
      'Check that the proxy is running and that the name resolves to it; some networks cannot reach their own public address.',
    );
    return;
  }
  if (fault !== undefined && fault !== 'CERT_HAS_EXPIRED')
    findings.fault(
      `Browsers will not trust the certificate of ${baseUrl}: ${fault}.`,
      'Have it issued for this name, and give the proxy the intermediate certificates too.',
    );
  certificateFinding(`The certificate of ${baseUrl}`, certificate, findings);
}
