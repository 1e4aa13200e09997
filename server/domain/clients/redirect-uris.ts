/** The redirect URIs that a client may register, and those of well-known clients. */

/** Maximum number of URIs of one client, and of characters in one. */
export const redirectUriLimits = { count: 20, length: 1000 } as const;

const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Whether the URI leads to a program on the person's own machine. */
export function isLoopback(uri: string): boolean {
  const host = URL.parse(uri)?.hostname;
  return host !== undefined && loopbackHosts.includes(host);
}

/**
 * A loopback URI without its port, which then matches any port (RFC 8252, section 7.3); any other URI is returned
 * unchanged.
 */
export const anyPort = (uri: string): string =>
  uri.replace(/^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):[1-9]\d{0,4}(?=[/?]|$)/, '$1');

/** Whether `presented` matches a registered URI, as the database compares them (app.redirect_uri_matches). */
export const redirectUriMatches = (registered: readonly string[], presented: string): boolean =>
  registered.includes(presented) || registered.includes(anyPort(presented));

// The authorization response adds these to the query; a parameter of the same name would occur twice.
const ours = ['code', 'state', 'iss', 'error', 'error_description'];

/**
 * The error in a redirect URI, in words for the person who registers it, or null. Every URI that the database rejects
 * (app.redirect_uri_allowed) has an error here. URIs are compared as strings, so only the form that browsers use is
 * accepted.
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
    return 'The host may contain only letters, digits, dots and hyphens, and must begin and end with a letter or digit.';
  if (url.port === '0') return 'No port 0: nothing listens there.';
  if (url.href !== uri && url.href !== `${uri}/`) return `Write it the way browsers do: ${url.href}`;
  const taken = ours.find((name) => url.searchParams.has(name));
  return taken === undefined ? null : `Its query must not contain "${taken}": that is added to the response.`;
}

/** The errors in a list of redirect URIs, each with its index in the list; -1 stands for the list as a whole. */
export function redirectUriFaults(uris: readonly string[]): { index: number; message: string }[] {
  const { count } = redirectUriLimits;
  if (uris.length === 0) return [{ index: -1, message: 'Give at least one redirect URI.' }];
  if (uris.length > count) return [{ index: -1, message: `At most ${count} redirect URIs.` }];
  return uris.flatMap((uri, index) => {
    const message = uris.indexOf(uri) < index ? 'It is already in the list.' : redirectUriFault(uri);
    return message === null ? [] : [{ index, message }];
  });
}

interface ClientPreset {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Whether the client has a metadata document, so that nobody needs to register it where documents are accepted. */
  readonly byDocument: boolean;
}

/**
 * The URIs of a path on this machine, with any port, under both host names: which one a program uses varies between its
 * versions.
 */
const onThisMachine = (...paths: readonly string[]): string[] =>
  paths.flatMap((path) => [`http://localhost${path}`, `http://127.0.0.1${path}`]);

/** The redirect URIs that common hosts actually send; docs/tools.md says how and when they were determined. */
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
  { id: 'gemini-cli', name: 'Gemini CLI', redirectUris: onThisMachine('/oauth/callback'), byDocument: false },
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
