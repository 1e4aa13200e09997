/** The interfaces of the service: the paths of each, and the format of its errors. */

import type { Hono, MiddlewareHandler } from 'hono';
import { authRoutes } from './auth/routes.ts';
import { refusalOf } from './http/malformed.ts';
import { writeProblemPage } from './http/pages.ts';
import { writeProblemJson, type WriteProblem } from './http/problem.ts';
import { restPath } from './http/rest-path.ts';
import { takenDocuments } from './oauth/client-documents.ts';
import { endpoints } from './oauth/metadata.ts';
import { writeOAuthError } from './oauth/oauth-error.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { writeEnvelope } from './rest/envelope.ts';
import { restRoutes } from './rest/routes.ts';
import type { Services } from './services.ts';
import { toolFacts } from './tools/catalog/index.ts';
import { toolServerPaths, toolServerRoutes, type ToolServer } from './tools/routes.ts';
import { writeRpcError } from './tools/rpc-error.ts';
import { answerProblem } from './web/api/problems.ts';
import { apiRoutes } from './web/api/routes.ts';

interface Interface {
  /** Name of the interface in the metrics. */
  readonly name: string;
  /** The path at which the routes are mounted. */
  readonly mount: string;
  /** The paths of the interface: each a single path or, with `/*` at its end, everything below. */
  readonly paths: readonly string[];
  readonly routes: (services: Services) => Hono | ToolServer;
  readonly writeProblem: WriteProblem;
}

const below = (prefix: string) => ({ mount: prefix, paths: [`${prefix}/*`] });

/** Every interface. All other paths are for people, who get a page. */
export const interfaces: readonly Interface[] = [
  { name: 'rest', ...below(restPath), routes: restRoutes, writeProblem: writeEnvelope },
  {
    name: 'oauth',
    mount: '/',
    paths: ['/.well-known/*', ...Object.values(endpoints)],
    routes: oauthRoutes,
    writeProblem: writeOAuthError,
  },
  {
    name: 'tools',
    mount: '/',
    paths: toolServerPaths,
    // Interfaces do not import each other: facts about one are passed to the other, here and below.
    routes: (services) => toolServerRoutes(services, takenDocuments(services.config.clientMetadata)),
    writeProblem: writeRpcError,
  },
  { name: 'auth', ...below('/api/auth'), routes: authRoutes, writeProblem: writeProblemJson },
  {
    name: 'web',
    ...below('/api/web'),
    routes: (services) =>
      apiRoutes(services, toolFacts(services.config.features), takenDocuments(services.config.clientMetadata)),
    writeProblem: answerProblem,
  },
];
const pages = { name: 'pages', writeProblem: writeProblemPage };

const isIn = (path: string, pattern: string): boolean =>
  pattern.endsWith('/*') ? `${path}/`.startsWith(pattern.slice(0, -1)) : path === pattern;

/** The interface that a path belongs to. */
export const interfaceAt = (path: string): Pick<Interface, 'name' | 'writeProblem'> =>
  interfaces.find(({ paths }) => paths.some((pattern) => isIn(path, pattern))) ?? pages;

/** Answers requests that are refused before any path is looked up, in the format of the interface that they address. */
export const refuseMalformed: MiddlewareHandler = async (c, next) => {
  const refused = refusalOf(c);
  return refused ? interfaceAt(c.req.path).writeProblem(c, refused) : next();
};
