/** Metadata for discovery: the authorization server (RFC 8414) and the resources that it protects (RFC 9728). */

import type { Hono } from 'hono';
import type { Services } from '../services.ts';
import { clientsPath } from '../http/links.ts';
import { scopes } from '../domain/clients/connected-clients.ts';
import { resourcePaths, spellingsOf, type CalledPath } from '../http/resource-metadata.ts';

/** The paths of the endpoints (specification, section 4.2). */
export const endpoints = {
  authorize: '/api/mcp/authorize',
  token: '/api/mcp/token',
  revoke: '/api/mcp/revoke',
} as const;

/** The metadata of the authorization server; all URLs use the configured origin. */
function authorizationServerMetadata(issuer: string, takesDocuments: boolean) {
  return {
    issuer,
    authorization_endpoint: issuer + endpoints.authorize,
    token_endpoint: issuer + endpoints.token,
    revocation_endpoint: issuer + endpoints.revoke,
    scopes_supported: scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: takesDocuments,
    service_documentation: `${issuer}${clientsPath}`,
  };
}

/** The metadata of the tool server at one of its paths. */
function protectedResourceMetadata(issuer: string, path: CalledPath) {
  return {
    resource: issuer + path,
    resource_name: 'Dealkeep',
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  };
}

/**
 * Adds the well-known documents. The forms with a suffix are for clients that append the path of the URL that they were
 * configured with.
 */
export function serveMetadata(routes: Hono, { config }: Services): void {
  const issuer = config.baseUrl;
  const serve = (path: string, document: object) =>
    routes.get(path, (c) => {
      c.header('Cache-Control', 'public, max-age=300');
      return c.json(document);
    });
  const server = authorizationServerMetadata(issuer, config.clientMetadata.mode !== 'off');
  const add = (at: string, path: CalledPath) => {
    serve(`/.well-known/oauth-authorization-server${at}`, server);
    serve(`/.well-known/oauth-protected-resource${at}`, protectedResourceMetadata(issuer, path));
  };
  for (const path of resourcePaths.flatMap(spellingsOf)) add(path, path);
  add('/', '');
}
