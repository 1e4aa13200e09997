/**
 * What the tool server and the authorization server declare about each other: resource, metadata and challenge (RFC
 * 9728, RFC 8707).
 */

/** The paths of the tool server, the canonical one first; the last is the origin itself, which people paste. */
export const resourcePaths = ['/api/mcp', '/mcp', ''] as const;

type ResourcePath = (typeof resourcePaths)[number];

/** A path as it may be called: all but the origin with or without a trailing slash. */
export type CalledPath = ResourcePath | `${Exclude<ResourcePath, ''>}/`;

/** Both spellings of a path; of the origin there is one. */
export const spellingsOf = (path: ResourcePath): CalledPath[] => (path === '' ? [path] : [path, `${path}/`]);

/** The scopes that clients are advised to request: all of them, because nothing later makes a client request more. */
const challengedScopes = 'mcp:read mcp:write';

/** The canonical identifier of the tool server, for which every access token is issued. */
export function canonicalResource(baseUrl: string): string {
  return baseUrl + resourcePaths[0];
}

/**
 * The canonical resource if `presented` names the tool server: its origin or one of its paths, with or without a
 * trailing slash, the host in upper or lower case. Null for anything else.
 */
export function resourceOf(baseUrl: string, presented: string): string | null {
  const url = URL.parse(presented);
  if (url === null || url.origin !== baseUrl || url.username + url.password + url.search + url.hash !== '') return null;
  if (/[?#]$/.test(presented)) return null;
  const path = url.pathname.replace(/\/$/, '');
  return (resourcePaths as readonly string[]).includes(path) ? canonicalResource(baseUrl) : null;
}

/**
 * The URL of the metadata of the resource at `path`: the well-known name comes before the path (RFC 9728, section 3.1).
 */
function metadataUrl(baseUrl: string, path: CalledPath): string {
  return `${baseUrl}/.well-known/oauth-protected-resource${path}`;
}

interface Challenge {
  readonly baseUrl: string;
  /**
   * The requested path: some clients fail when they are referred to the metadata of another path, or of another spelling
   * of it.
   */
  readonly path: CalledPath;
  /** Missing when no token was presented (RFC 6750, section 3.1). */
  readonly error?: 'invalid_token';
}

/** The value of WWW-Authenticate in a 401 of the tool server (RFC 6750, section 3; RFC 9728, section 5.1). */
export function bearerChallenge({ baseUrl, path, error }: Challenge): string {
  const parameters = [`resource_metadata="${metadataUrl(baseUrl, path)}"`, `scope="${challengedScopes}"`];
  if (error)
    parameters.unshift(`error="${error}"`, 'error_description="The access token is unknown, expired or revoked."');
  return `Bearer ${parameters.join(', ')}`;
}
