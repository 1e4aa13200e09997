/** The OpenAPI document and a browsable reference made of it, every file served from here. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Handler, Hono } from 'hono';
import { html } from '../http/html.ts';
import { only } from './methods.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';

const require = createRequire(import.meta.url);
/** The files of Swagger UI that we serve, in the compiled server; from its sources they are in node_modules. */
const compiledIn = join(import.meta.dirname, 'swagger-ui');

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets style attributes; it needs no inline script.
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
      <link rel="stylesheet" href="/api/v1/docs/swagger-ui.css" />
    </head>
    <body>
      <div id="reference"></div>
      <script src="/api/v1/docs/swagger-ui-bundle.js"></script>
      <script src="/api/v1/docs/start.js"></script>
    </body>
  </html>`.text;

const start = `SwaggerUIBundle({ url: '/api/v1/openapi.json', dom_id: '#reference', deepLinking: true, validatorUrl: null });\n`;

/** A file of Swagger UI, read when it is first asked for. */
function ofSwaggerUi(name: string): () => string {
  let text: string | undefined;
  const file = () => (existsSync(compiledIn) ? join(compiledIn, name) : require.resolve(`swagger-ui-dist/${name}`));
  return () => (text ??= readFileSync(file(), 'utf8'));
}

const files = [
  { name: 'swagger-ui.css', type: 'text/css', text: ofSwaggerUi('swagger-ui.css') },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript', text: ofSwaggerUi('swagger-ui-bundle.js') },
  { name: 'start.js', type: 'text/javascript', text: () => start },
];

/** Adds /openapi.json and /docs of the operations to the routes; `baseUrl` is our public origin. */
export function serveDocs(routes: Hono, baseUrl: string, operations: readonly Operation[]): void {
  const document = JSON.stringify(openApiDocument(baseUrl, operations));
  const serve = (path: string, handler: Handler) => routes.get(path, handler).all(path, only('GET', 'HEAD'));
  serve('/openapi.json', (c) =>
    c.body(document, 200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' }),
  );
  serve('/docs', (c) => {
    c.header('Content-Security-Policy', policy);
    return c.html(page);
  });
  for (const { name, type, text } of files) {
    serve(`/docs/${name}`, (c) =>
      c.body(text(), 200, { 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': 'public, max-age=3600' }),
    );
  }
}
