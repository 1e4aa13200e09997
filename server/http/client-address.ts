/** The address a request comes from, as seen through the proxies that the operator trusts, and no others. */

import { BlockList, isIP } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The canonical spelling of an address: IPv4-mapped IPv6 becomes IPv4, a zone is dropped; null if it is not an address.
 */
function normalized(text: string): string | null {
  const [address = ''] = text.trim().split('%', 1);
  const plain = mapped.exec(address)?.[1] ?? address;
  return isIP(plain) ? plain : null;
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function networks(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, family(address));
    else list.addSubnet(address, Number(bits), family(address));
  }
  return list;
}

/**
 * The client's address. X-Forwarded-For is read from its end, and each entry is believed only if the peer that appended
 * it is a trusted proxy: entries that a client wrote itself are never reached.
 */
function seenThrough(trusted: BlockList, peer: string, forwarded: string | undefined): string {
  const hops = forwarded === undefined ? [] : forwarded.split(',');
  let address = peer;
  while (trusted.check(address, family(address))) {
    const before = normalized(hops.pop() ?? '');
    if (before === null) break;
    address = before;
  }
  return address;
}

/**
 * Returns a function that finds a client's address by the peer's and X-Forwarded-For; `ranges` are addresses and CIDR
 * ranges of trusted proxies.
 */
export function addressFinder(ranges: readonly string[]) {
  const trusted = networks(ranges);
  return (peer: string | undefined, forwarded: string | undefined): string =>
    seenThrough(trusted, normalized(peer ?? '') ?? '0.0.0.0', forwarded);
}

/** Sets `c.var.clientAddress`. */
export function addressing(
  find: ReturnType<typeof addressFinder>,
): MiddlewareHandler<{ Variables: { clientAddress: string } }> {
  return (c, next) => {
    c.set('clientAddress', find(getConnInfo(c).remote.address, c.req.header('x-forwarded-for')));
    return next();
  };
}

/** The address of the client that sent this request, for the audit trail and as the key of a rate limit. */
export function clientAddress(c: Context): string {
  const address: unknown = c.get('clientAddress');
  if (typeof address !== 'string') throw new Error('addressing must be mounted before this handler');
  return address;
}

/**
 * The unit in which addresses are counted: an IPv4 address, or the /64 of an IPv6 address, which belongs to one
 * subscriber.
 */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.toLowerCase().split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  // A trailing IPv4 address stands for two groups.
  const width = right.length + (right.at(-1)?.includes('.') ? 1 : 0);
  const zeros = tail === undefined ? 0 : 8 - left.length - width;
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
