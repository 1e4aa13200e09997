/**
 * Resolves host names that others have named by querying the name servers directly instead of the system (getaddrinfo):
 * a process runs only two system look-ups at a time, so slow name servers of one webhook receiver would delay look-ups
 * for the bucket, the mail server and PostgreSQL.
 */

import { lookup, Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

/** Resolves a name to all of its addresses. Rejects if it has none, or if no name server answers. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/**
 * Timeout of the first query to a name server, in milliseconds; it is repeated once, with a timeout up to twice as
 * long.
 */
const usualMillis = 1_500;

const hasIpv4 = (): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some(({ family, internal }) => family === 'IPv4' && !internal));

/**
 * Resolves by these name servers ("127.0.0.1:53"), or by those of the system at the time of the query. Addresses of the
 * family that this machine can reach come first.
 */
export const resolveBy =
  (servers?: readonly string[], millis = usualMillis): Resolve =>
  async (name) => {
    // Name servers are not asked for localhost.
    if (name === 'localhost') return (await lookup(name, { all: true })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: millis, tries: 2, maxTimeout: 2 * millis });
    if (servers) resolver.setServers(servers);
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason;
    const found = [ipv4, ipv6].map((one) => (one.status === 'fulfilled' ? one.value : []));
    return (hasIpv4() ? found : found.toReversed()).flat();
  };
