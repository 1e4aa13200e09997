/**
 * Sends requests from inside our network to URLs that others have named (webhook receivers, client metadata documents):
 * only to public addresses, with the name resolved once and the connection made to the resolved address, without
 * redirects, in bounded time and size.
 */

import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP } from 'node:net';
import { performance } from 'node:perf_hooks';
import { resolveBy, type Resolve } from './resolve-name.ts';

/** Thrown when nothing was sent or no response came; the message is for the person who named the address. */
export class NotFetched extends Error {
  override readonly name = 'NotFetched';
}

export interface Guard {
  /** For development and tests only: allows addresses of this machine, also over http. */
  readonly allowLoopback: boolean;
  readonly resolve?: Resolve;
  /** Certificates to trust in addition to the usual ones, in PEM. */
  readonly ca?: string;
  /** Maximum time for the whole exchange, in milliseconds. */
  readonly millis?: number;
  /** Maximum number of bytes read of a response. */
  readonly bytes?: number;
  /** Keeps connections open for later requests; without it each request has a connection of its own. */
  readonly kept?: KeptConnections;
}

/** How long an unused connection is kept, and how long a resolved address is reused, in milliseconds. */
const kept = { idle: 4_000, resolved: 5_000 } as const;

/**
 * Connections to one receiver, each to a checked address. Must not be shared between receivers of different people: one
 * of them could answer a request meant for another.
 */
export class KeptConnections {
  readonly #agents = new Map<boolean, http.Agent>();
  #resolved = { host: '', address: '', at: -Infinity };

  /** @internal */
  agent(isTls: boolean): http.Agent {
    let agent = this.#agents.get(isTls);
    if (agent === undefined) {
      agent = new (isTls ? https : http).Agent({ keepAlive: true, maxFreeSockets: 4, timeout: kept.idle });
      this.#agents.set(isTls, agent);
    }
    return agent;
  }

  /** @internal The address to which the name was resolved recently, or the result of `find`. */
  async address(host: string, find: () => Promise<string>): Promise<string> {
    const { host: before, address, at } = this.#resolved;
    if (before === host && performance.now() - at < kept.resolved) return address;
    const found = await find();
    this.#resolved = { host, address: found, at: performance.now() };
    return found;
  }

  /** Closes all connections; none may be in use. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
}

interface GuardedRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface GuardedAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** As received, not decoded. */
  readonly body: Buffer;
  /** Whether the response was longer, and the rest was not read. */
  readonly isCut: boolean;
  /** Why the body ended before its end: its host broke off, or was too slow. Otherwise null. */
  readonly fault: NotFetched | null;
  readonly millis: number;
}

const usual = { millis: 10_000, bytes: 65_536 } as const;
const longestUrl = 2_000;

function blocked(...subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = '', bits] = subnet.split('/');
    list.addSubnet(net, Number(bits), isIP(net) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

// IANA's registries of special-purpose addresses (RFC 6890), and multicast.
const special4 = blocked(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);
// Global unicast. All other addresses are loopback, mapped and translated IPv4, unique local, link-local or multicast.
const global6 = blocked('2000::/3');
// Exceptions within it: protocol assignments with Teredo, documentation, 6to4 and AS112.
const special6 = blocked('2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20');
const loopback = blocked('127.0.0.0/8', '::1/128');

/** Whether an address is on the public Internet; false for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special4.check(address, 'ipv4');
    case 6:
      return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
    default:
      return false;
  }
}

const isLoopback = (address: string): boolean => loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** The host of a URL without the brackets of an IPv6 address. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * Checks whether requests may go to a URL, as far as possible without resolving its name. Returns null, or a sentence
 * that says what to change. Allowed is https to a host name, on port 443 or 1024 and above, without user and password.
 */
export function faultOfUrl(text: string, { allowLoopback }: Pick<Guard, 'allowLoopback'>): string | null {
  if (text.length > longestUrl) return `It is too long: at most ${longestUrl} characters.`;
  const url = URL.parse(text);
  if (url === null) return 'It is not a URL.';
  // The parser would repair other characters, so that the request would go to a different URL than the one written, and
  // such text is not a URI (RFC 3986).
  if (!/^[\x21-\x7e]+$/.test(text) || /[<>"\\^`{|}]/.test(text))
    return 'Write it in ASCII without spaces: other characters in the host as xn--, and elsewhere as % codes.';
  if (!/^https?:\/\/[^/]/.test(text)) return 'It must begin with https:// in lower case, followed by the host.';
  const host = hostOf(url);
  const isLocal = allowLoopback && (host === 'localhost' || (isIP(host) !== 0 && isLoopback(host)));
  if (url.protocol !== 'https:' && !(isLocal && url.protocol === 'http:')) return 'It must begin with https://.';
  if (url.username !== '' || url.password !== '') return 'Leave out the user name and password.';
  if (url.hash !== '') return 'Leave out what follows #: it is not sent.';
  if (isLocal) return null;
  if (isIP(host) !== 0) return 'Use a host name, not an IP address.';
  if (!host.includes('.') || /\.(?:localhost|local|internal|home\.arpa|lan|test|invalid|onion)\.?$/i.test(host))
    return 'Use a host name that can be found on the Internet.';
  const port = url.port === '' ? 443 : Number(url.port);
  if (port !== 443 && port < 1024) return 'Use port 443, or 1024 or higher.';
  return null;
}

/**
 * The address to connect to. All addresses of the name must be allowed, so that the result does not depend on their
 * order.
 */
async function addressOf(host: string, { allowLoopback, resolve = resolveBy() }: Guard): Promise<string> {
  const isAllowed = (address: string) => isPublicAddress(address) || (allowLoopback && isLoopback(address));
  let found: readonly string[];
  try {
    found = isIP(host) === 0 ? await resolve(host) : [host];
  } catch (error) {
    throw new NotFetched('The name of the host could not be resolved.', { cause: error });
  }
  const [first] = found;
  if (first === undefined) throw new NotFetched('The name of the host has no address.');
  if (!found.every(isAllowed)) throw new NotFetched('The host is not on the public Internet.');
  return first;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The host refused the connection.',
  ECONNRESET: 'The host closed the connection.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  HPE_HEADER_OVERFLOW: 'The headers of the response are too large.',
};

function faultOf(error: NodeJS.ErrnoException): NotFetched {
  if (error instanceof NotFetched) return error;
  const code = error.code ?? '';
  const isOfTls = /^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL|EPROTO)/.test(code);
  const message = isOfTls
    ? `The certificate or the encryption of the host is not valid (${code}).`
    : (reasons[code] ?? 'The request failed before there was a response.');
  return new NotFetched(message, { cause: error });
}

/**
 * Sends a request and reads the response, whatever its status; redirects are returned, not followed. Rejects with
 * {@link NotFetched}. The certificate is checked against the name in the URL, which is also sent as SNI and Host; the
 * connection goes to the checked address.
 */
export async function guardedFetch(
  target: string,
  { method, headers = {}, body }: GuardedRequest,
  guard: Guard,
): Promise<GuardedAnswer> {
  const wrong = faultOfUrl(target, guard);
  if (wrong !== null) throw new NotFetched(wrong);
  const { millis = usual.millis, bytes = usual.bytes, ca, kept: connections } = guard;
  const url = new URL(target);
  const began = performance.now();
  const host = hostOf(url);
  const over = Promise.withResolvers<never>();
  let isLate = false;
  let sent: http.ClientRequest | undefined;
  /** Settles with what has arrived; from when on there is a status. */
  let breakOff: ((fault?: NotFetched) => void) | undefined;
  const timer = setTimeout(() => {
    const late = new NotFetched(`There was no complete response within ${millis / 1000} seconds.`);
    isLate = true;
    if (breakOff) breakOff(late);
    else over.reject(late);
    sent?.destroy(late);
  }, millis);

  async function exchange(isAgain = false): Promise<GuardedAnswer> {
    const find = () => addressOf(host, guard);
    const address = await (connections ? connections.address(host, find) : find());
    if (isLate) throw new NotFetched('It took too long to resolve the name of the host.');
    const isTls = url.protocol === 'https:';
    const options: https.RequestOptions = {
      method,
      host: address,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      headers: {
        ...headers,
        Host: url.host,
        'Accept-Encoding': 'identity',
        ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
      },
      // Without an agent, the request gets a connection of its own, which is closed after the response.
      agent: (!isAgain && connections?.agent(isTls)) || false,
      ...(isTls && { ...(isIP(host) === 0 && { servername: host }), ...(ca !== undefined && { ca }) }),
    };
    return new Promise<GuardedAnswer>((resolve, reject) => {
      const request = (isTls ? https : http).request(options, (answer) => {
        const parts: Buffer[] = [];
        let size = 0;
        const done = (isCut: boolean, fault: NotFetched | null = null) =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: Buffer.concat(parts).subarray(0, bytes),
            isCut,
            fault,
            millis: Math.round(performance.now() - began),
          });
        breakOff = (broken = new NotFetched('The response was cut off.')) => done(false, broken);
        answer.on('data', (part: Buffer) => {
          parts.push(part);
          size += part.length;
          if (size <= bytes) return;
          done(true);
          request.destroy();
        });
        answer.on('end', () => done(false));
        answer.on('error', () => breakOff?.());
        answer.on('close', () => breakOff?.());
      });
      sent = request;
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (breakOff) return breakOff();
        // The receiver closed the kept connection just as it was reused: nothing indicates that it processed the
        // request.
        const isStale = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '');
        if (isStale && !isLate) resolve(exchange(true));
        else reject(error);
      });
      request.end(body);
    });
  }

  try {
    // The race settles even if a connection ends without an error.
    return await Promise.race([exchange(), over.promise]);
  } catch (error) {
    sent?.destroy();
    throw faultOf(error as NodeJS.ErrnoException);
  } finally {
    clearTimeout(timer);
  }
}
