/**
 * Resolves names of hosts that others have named by asking the name servers, not the system (getaddrinfo): of its questions a process has two under way at a time, and
 * slow name servers of one receiver of webhooks would hold up those for the bucket, the mail server and PostgreSQL.
 */

import { lookup, Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

/** Resolves a name to all of its addresses. Rejects where it has none, or nobody answers. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** How long a name server is waited for at first, in milliseconds; it is asked once more, and then waited for up to twice as long. */
const usualMillis = 1_500;

const hasIpv4 = (): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some(({ family, internal }) => family === 'IPv4' && !internal));

/** Asks these name servers ("127.0.0.1:53"), or those of the system as they are at that moment. The addresses that this machine can reach come first. */
export const resolveBy =
  (servers?: readonly string[], millis = usualMillis): Resolve =>
  async (name) => {
    // No name server is asked for it.
    if (name === 'localhost') return (await lookup(name, { all: true })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: millis, tries: 2, maxTimeout: 2 * millis });
    if (servers) resolver.setServers(servers);
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason;
    const found = [ipv4, ipv6].map((one) => (one.status === 'fulfilled' ? one.value : []));
    return (hasIpv4() ? found : found.toReversed()).flat();
  };
