/**
 * Serves the OpenAPI document, and a reader of it that includes the guide (docs/rest.md), with every file from this
 * server.
 */

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context, Handler, Hono } from 'hono';
import { html } from '../http/html.ts';
import { restPath } from '../http/rest-path.ts';
import { loadedOnce } from '../lib/loaded-once.ts';
import { only } from './methods.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';

const require = createRequire(import.meta.url);
/** Scalar in one file: next to this module in the compiled server; run from sources, it is in node_modules. */
const compiledIn = join(import.meta.dirname, 'reader/standalone.js');
const guideFile = join(import.meta.dirname, '../../docs/rest.md');

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // The reader sets style attributes and writes style elements; it needs no inline script.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const page = html`<!doctype html>
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>REST API · Dealkeep</title>
      <link rel="icon" href="data:," />
    </head>
    <body>
      <div id="reference"></div>
      <script src="${restPath}/docs/reader.js"></script>
      <script type="module" src="${restPath}/docs/start.js"></script>
    </body>
  </html>`.text;

/**
 * Script of the page: the guide becomes the description of the document, and the reader builds its index from the
 * guide's headings.
 */
const start = `const asked = async (path) => (await fetch(path)).text();
const [text, guide] = await Promise.all([asked('${restPath}/openapi.json'), asked('${restPath}/docs/guide.md')]);
const content = JSON.parse(text);
content.info.description = guide;
Scalar.createApiReference('#reference', {
  content,
  // Nothing is asked of other hosts: no fonts, no counting, no assistant.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  // Its own greys are too pale for small text.
  customCss: '.light-mode { --scalar-color-2: #555; --scalar-color-3: #686868; --scalar-color-green: #006b3d; --scalar-color-blue: #0060a8; --scalar-color-orange: #a63a00; } .dark-mode { --scalar-color-3: #a0a0a0; }',
  // The key is not stored. The field begins with the prefix of test keys, which work on the sandbox.
  persistAuth: false,
  authentication: { preferredSecurityScheme: 'apiKey', securitySchemes: { apiKey: { token: 'dk_test_' } } },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  // A change with a live key is asked for twice.
  onBeforeRequest({ request }) {
    if (['GET', 'HEAD'].includes(request.method) || /^Bearer dk_test_/.test(request.headers.get('Authorization') ?? '')) return;
    if (!confirm('This changes live data. Send it?')) throw new Error('Not sent.');
  },
});
`;

/**
 * The guide for integrators: docs/rest.md without its heading, which the page has, and without the part about the
 * implementation.
 */
function guide(): string {
  const [text = ''] = readFileSync(guideFile, 'utf8').split(/^## How it works$/m);
  return (
    text
      .replace(/^# .*\n/, '')
      // The other files of docs/ are not served.
      .replaceAll(/\[([^\]]+)\]\((?!https?:|#)[^)]*\)/g, '$1')
      .replaceAll('](#', '](#description/')
      .trim()
  );
}

const once = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** Bytes that all responses share: a client that does not read its response keeps no copy of them in memory. */
type Shared = Uint8Array<ArrayBuffer>;

const encoded = (text: string): Shared => new TextEncoder().encode(text);

const readerFile = (): string =>
  existsSync(compiledIn) ? compiledIn : join(require.resolve('@scalar/api-reference'), '../browser/standalone.js');

/** The reader, plain and compressed, read at the first request: about 4.4 MB, and a third of that. */
const reader = loadedOnce(async (): Promise<{ plain: Shared; gzip: Shared }> => {
  const plain = await readFile(readerFile());
  return { plain, gzip: await promisify<Buffer, Shared>(gzip)(plain) };
});

async function sendReader(c: Context): Promise<Response> {
  const { plain, gzip: compressed } = await reader();
  c.header('Content-Type', 'text/javascript; charset=utf-8');
  c.header('Cache-Control', 'public, max-age=3600');
  c.header('Vary', 'Accept-Encoding');
  if (!/\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(c.req.header('accept-encoding') ?? '')) return c.body(plain);
  c.header('Content-Encoding', 'gzip');
  return c.body(compressed);
}

/** Adds /openapi.json and /docs of the operations to the routes; `baseUrl` is the public origin of the service. */
export function serveDocs(routes: Hono, baseUrl: string, operations: readonly Operation[]): void {
  const document = once(() => encoded(JSON.stringify(openApiDocument(baseUrl, operations))));
  const text = once(() => encoded(guide()));
  const begin = encoded(start);
  const serve = (path: string, handler: Handler) => routes.get(path, handler).all(path, only('GET', 'HEAD'));
  const send = (type: string, body: () => Shared): Handler => {
    return (c) => c.body(body(), 200, { 'Content-Type': type, 'Cache-Control': 'no-cache' });
  };
  serve('/openapi.json', send('application/json', document));
  serve('/docs', (c) => {
    c.header('Content-Security-Policy', policy);
    return c.html(page);
  });
  serve('/docs/reader.js', sendReader);
  serve(
    '/docs/start.js',
    send('text/javascript; charset=utf-8', () => begin),
  );
  serve('/docs/guide.md', send('text/markdown; charset=utf-8', text));
}
