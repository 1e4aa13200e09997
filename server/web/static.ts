/** Serves the built web application: its files, and index.html at the path of every page. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Hono, type Context } from 'hono';
import { encodings, preferredEncoding, type Encoding } from '../http/compression.ts';
import { encodedTag, entityTag, isKnown } from '../http/entity-tags.ts';
import { applicationPaths } from '../http/links.ts';
import { problem } from '../http/pages.ts';

const built = path.join(import.meta.dirname, '../../web/dist');

/**
 * Allows no scripts and styles other than our own files. React and Radix set styles through the CSS object model, which
 * the policy does not restrict.
 */
const pagePolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** A worker is subject to the policy of its own file, and the decoders of PDF.js are WebAssembly. */
const assetPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** Files that pages of assistant hosts show: the icon that the tool server names. */
const icon = /^\/icon\.(png|svg)$/;

/** The names that the build gives to compressed files. */
const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** The body as compressed by the build. */
  readonly encoded: ReadonlyMap<Encoding, Uint8Array<ArrayBuffer>>;
}

function readBuiltFile(directory: string, name: string): BuiltFile {
  const file = path.join(directory, name);
  const body = readFileSync(file);
  const encoded = new Map(
    encodings.flatMap((encoding) => {
      const compressed = file + suffixes[encoding];
      return existsSync(compressed) ? [[encoding, readFileSync(compressed)] as const] : [];
    }),
  );
  return { type: types[path.extname(name)] ?? 'application/octet-stream', etag: entityTag(body), body, encoded };
}

/** Views of tool results are not pages; the tool server serves them. */
const views = `views${path.sep}`;

/** Every file of the build, by its path on the origin; empty when nothing is built. */
function readBuild(directory: string): ReadonlyMap<string, BuiltFile> {
  if (!existsSync(path.join(directory, 'index.html'))) return new Map();
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(br|gz)$/.test(entry.name))
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .filter((name) => !name.startsWith(views));
  return new Map(names.map((name) => [`/${name.split(path.sep).join('/')}`, readBuiltFile(directory, name)]));
}

const builds = new Map<string, ReadonlyMap<string, BuiltFile>>();

/** The result of {@link readBuild}, read once per process for all applications in it. */
function buildIn(directory: string): ReadonlyMap<string, BuiltFile> {
  const build = builds.get(directory) ?? readBuild(directory);
  // An empty result is not kept, as the build may still be running.
  if (build.size > 0) builds.set(directory, build);
  return build;
}

function send(c: Context, file: BuiltFile, caching: string, policy?: string): Response {
  if (policy !== undefined) c.header('Content-Security-Policy', policy);
  c.header('Cache-Control', caching);
  const encoding = preferredEncoding(c, [...file.encoded.keys()]);
  c.header('ETag', encoding ? encodedTag(file.etag, encoding) : file.etag);
  c.header('Vary', 'Accept-Encoding');
  if (isKnown(c, file.etag)) return c.body(null, 304);
  const body = (encoding && file.encoded.get(encoding)) ?? file.body;
  if (encoding) c.header('Content-Encoding', encoding);
  c.header('Content-Type', file.type);
  c.header('Content-Length', String(body.byteLength));
  return c.body(body);
}

/**
 * Routes for the application's files, and for index.html at the path of each page; to be mounted after all other
 * routes. The build is kept in memory, so that a new build is served completely or not at all. When nothing is built,
 * pages respond with 503.
 */
export function staticRoutes(directory = built): Hono {
  const app = new Hono();
  const build = buildIn(directory);
  const index = build.get('/index.html');
  const show = (c: Context) => {
    if (!index)
      return problem(c, 503, 'not_built', 'The web application is not built: check the log, then restart Dealkeep.');
    c.header('Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()');
    c.header('Referrer-Policy', 'same-origin');
    return send(c, index, 'no-cache', pagePolicy);
  };
  for (const page of applicationPaths) app.get(page, show);

  // These names contain a hash of the content, so the content at a path never changes.
  app.get('/assets/*', (c) => {
    const file = build.get(c.req.path);
    return file ? send(c, file, 'public, max-age=31536000, immutable', assetPolicy) : c.notFound();
  });
  for (const [name, file] of build) {
    if (name === '/index.html' || name.startsWith('/assets/')) continue;
    app.get(name, (c) => {
      if (icon.test(name)) {
        c.header('Cross-Origin-Resource-Policy', 'cross-origin');
        c.header('Access-Control-Allow-Origin', '*');
      }
      return send(c, file, 'no-cache');
    });
  }
  return app;
}
