/** Which redirect URIs a client may register, and those of well-known clients. */

/** The most URIs that one client may have, and the most characters of one. */
export const redirectUriLimits = { count: 20, length: 1000 } as const;

const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Whether what is sent to this URI goes to a program on the person's own machine. */
export function isLoopback(uri: string): boolean {
  const host = URL.parse(uri)?.hostname;
  return host !== undefined && loopbackHosts.includes(host);
}

/** A loopback URI without its port, which then stands for any port (RFC 8252, section 7.3); any other URI as it is. */
export const anyPort = (uri: string): string =>
  uri.replace(/^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):[1-9]\d{0,4}(?=[/?]|$)/, '$1');

/** Whether `presented` is one of the registered URIs, as the database compares them (app.redirect_uri_matches). */
export const redirectUriMatches = (registered: readonly string[], presented: string): boolean =>
  registered.includes(presented) || registered.includes(anyPort(presented));

// An answer is added to the query: a parameter of the same name would be there twice.
const ours = ['code', 'state', 'iss', 'error', 'error_description'];

/**
 * What is wrong with a redirect URI, in words for the person who registers it, or null. Whatever the database refuses
 * (app.redirect_uri_allowed) has a fault here. URIs are compared as strings, so only the form that browsers use is taken.
 */
export function redirectUriFault(uri: string): string | null {
  if (uri.length > redirectUriLimits.length) return `At most ${redirectUriLimits.length} characters.`;
  if (!/^[!-~]+$/.test(uri)) return 'Only ASCII characters without spaces: write international host names as xn--….';
  if (/[\\#*<>"`{}|^]/.test(uri)) return 'No backslash, fragment (#), wildcard (*) or quotes.';
  if (uri.includes('..')) return 'No ".." anywhere.';
  const url = URL.parse(uri);
  if (url === null) return 'Write a whole URI, for instance https://app.example.com/callback.';
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return 'Only https, or http on this machine: no other schemes.';
  if (url.username !== '' || url.password !== '') return 'No user name or password.';
  if (url.protocol === 'http:' && !loopbackHosts.includes(url.hostname)) {
    return 'Plain http only for localhost, 127.0.0.1 and [::1]; everywhere else https.';
  }
  if (url.hostname.endsWith('.')) return 'No dot at the end of the host.';
  if (!/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/.test(url.hostname))
    return 'The host may have letters, digits, dots and hyphens alone, and begins and ends with a letter or digit.';
  if (url.port === '0') return 'No port 0: nothing listens there.';
  if (url.href !== uri && url.href !== `${uri}/`) return `Write it the way browsers do: ${url.href}`;
  const taken = ours.find((name) => url.searchParams.has(name));
  return taken === undefined ? null : `Its query must not have "${taken}": that is added to the response.`;
}

/** The faults of a list of redirect URIs, each with its place in the list; -1 stands for the list as a whole. */
export function redirectUriFaults(uris: readonly string[]): { index: number; message: string }[] {
  const { count } = redirectUriLimits;
  if (uris.length === 0) return [{ index: -1, message: 'Give at least one redirect URI.' }];
  if (uris.length > count) return [{ index: -1, message: `At most ${count} redirect URIs.` }];
  return uris.flatMap((uri, index) => {
    const message = uris.indexOf(uri) < index ? 'It is in the list already.' : redirectUriFault(uri);
    return message === null ? [] : [{ index, message }];
  });
}

interface ClientPreset {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Whether it says who it is by a document of its own, so that nobody need register it where documents are taken. */
  readonly byDocument: boolean;
}

/** A path of this machine, at any port, by both names: which of them a program uses changes from version to version. */
const onThisMachine = (...paths: readonly string[]): string[] =>
  paths.flatMap((path) => [`http://localhost${path}`, `http://127.0.0.1${path}`]);

/** What the hosts that people connect really send; from where that is known, and when it was seen, is in docs/tools.md. */
export const clientPresets = [
  {
    id: 'claude',
    name: 'Claude',
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    byDocument: true,
  },
  { id: 'claude-code', name: 'Claude Code', redirectUris: onThisMachine('/callback'), byDocument: true },
  {
    id: 'chatgpt',
    name: 'ChatGPT',
    redirectUris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    byDocument: true,
  },
  { id: 'codex', name: 'Codex', redirectUris: onThisMachine('/callback'), byDocument: true },
  {
    id: 'vscode',
    name: 'VS Code',
    redirectUris: [...onThisMachine('/'), 'https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
    byDocument: true,
  },
  {
    id: 'cursor',
    name: 'Cursor',
    redirectUris: [...onThisMachine('/callback'), 'https://www.cursor.com/agents/mcp/oauth/callback'],
    byDocument: false,
  },
  {
    id: 'copilot-studio',
    name: 'Copilot Studio',
    redirectUris: ['https://global.consent.azure-apim.net/redirect'],
    byDocument: false,
  },
  { id: 'opencode', name: 'opencode', redirectUris: onThisMachine('/mcp/oauth/callback'), byDocument: false },
  { id: 'mcp-remote', name: 'mcp-remote', redirectUris: onThisMachine('/oauth/callback'), byDocument: false },
  {
    id: 'inspector',
    name: 'MCP Inspector',
    redirectUris: onThisMachine('/oauth/callback', '/oauth/callback/debug'),
    byDocument: false,
  },
  {
    id: 'desktop',
    name: 'Another program on your computer',
    redirectUris: onThisMachine('/callback'),
    byDocument: false,
  },
] as const satisfies readonly ClientPreset[];
