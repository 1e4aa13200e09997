/**
 * How programs find the tool server before they connect: its card, at `<URL of the tool server>/server-card`, and the
 * host's catalogue, which names the card. The formats are MCP's extension for server cards (SEP-2127) and the AI
 * Catalog that it builds on.
 */

import type { Hono } from 'hono';
import { cors } from 'hono/cors';
import { isIP } from 'node:net';
import { entityTag, isKnown } from '../http/entity-tags.ts';
import { canonicalResource, resourcePaths } from '../http/resource-metadata.ts';
import { iconsOf, identity } from './identity.ts';
import { protocolVersions } from './versions.ts';

const types = { card: 'application/mcp-server-card+json', catalogue: 'application/ai-catalog+json' } as const;

/** The paths of the card: one below each path of the tool server. */
export const cardPaths: readonly string[] = resourcePaths.map((path) => `${path}/server-card`);
const cataloguePath = '/.well-known/ai-catalog.json';

/**
 * The host of a URL as a namespace: "com.example.deals" for https://deals.example.com. An IP address is not reversed.
 */
function namespaceOf(baseUrl: string): string {
  const host = new URL(baseUrl).hostname.replaceAll(/[[\]]/g, '').replaceAll(':', '-');
  return isIP(host) === 0 ? host.split('.').toReversed().join('.') : host;
}

/**
 * The card: the server's identity and how it is reached. It lists no tools: those are listed only with a valid token.
 */
export function serverCard(baseUrl: string) {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${namespaceOf(baseUrl)}/${identity.name}`,
    version: identity.version,
    title: identity.title,
    description: "A person's deals at a business brokerage: figures, questions, documents, offers, financing, closing.",
    websiteUrl: baseUrl,
    icons: iconsOf(baseUrl),
    remotes: [
      { type: 'streamable-http', url: canonicalResource(baseUrl), supportedProtocolVersions: protocolVersions },
    ],
  };
}

/** The catalogue of this host, which contains only the card. */
export function catalogue(baseUrl: string) {
  return {
    specVersion: '1.0',
    entries: [
      {
        identifier: `urn:air:${new URL(baseUrl).hostname}:mcp:${identity.name}`,
        type: types.card,
        url: baseUrl + cardPaths[0],
      },
    ],
  };
}

// Pages of any origin may read them: they contain only public information.
const anyOrigin = cors({
  origin: '*',
  allowMethods: ['GET'],
  allowHeaders: ['Content-Type', 'If-None-Match'],
  exposeHeaders: ['ETag'],
  maxAge: 86_400,
});

/** Adds the card and the catalogue to the routes. */
export function serveCard(routes: Hono, baseUrl: string): void {
  const serve = (path: string, type: string, document: object) => {
    const text = JSON.stringify(document);
    const etag = entityTag(text);
    routes.use(path, anyOrigin);
    routes.get(path, (c) => {
      c.header('ETag', etag);
      c.header('Cache-Control', 'public, max-age=3600');
      if (isKnown(c, etag)) return c.body(null, 304);
      c.header('Content-Type', type);
      return c.body(text);
    });
  };
  for (const path of cardPaths) serve(path, types.card, serverCard(baseUrl));
  serve(cataloguePath, types.catalogue, catalogue(baseUrl));
}
