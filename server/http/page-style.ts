/** The style sheet of the pages that the server draws: the application's colours and fonts, and on top of them what is in style/. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Hono } from 'hono';

const web = path.join(import.meta.dirname, '../../web');
const assets = path.join(web, 'dist/assets');

/** A style sheet of the application; nothing where only its build was brought along. */
function ofApplication(name: string): string {
  const file = path.join(web, 'src/styles', name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** The colours. Dark where the system is dark, unless the person chose a theme in the application, which pages.ts puts at the root. */
function colours(): string {
  const tokens = ofApplication('tokens.css');
  const dark = /:root\[data-theme='dark'\] (\{[^}]*\})/.exec(tokens)?.[1] ?? '{}';
  return `${tokens}\n@media (prefers-color-scheme: dark) {\n:root:not([data-theme]) ${dark}\n}`;
}

/** The fonts that are built, under the addresses that the application gives them: a browser loads each of them once. */
function fonts(built: readonly string[]): string {
  const faces = ofApplication('fonts.css').match(/@font-face \{[^}]*\}/g) ?? [];
  return faces
    .map((face) => {
      const source = /'@[^']*\/([^'/]+)\.woff2'/.exec(face);
      if (!source) return face;
      const file = built.find((name) => name.startsWith(`${source[1]}-`) && name.endsWith('.woff2'));
      return file ? face.replace(source[0], `'/assets/${file}'`) : '';
    })
    .join('\n');
}

interface PageStyle {
  readonly css: string;
  /** Its address, which changes with it. */
  readonly href: string;
  /** The fonts that nearly every page uses, to be fetched beside the style sheet. */
  readonly fontHrefs: readonly string[];
}

let made: PageStyle | undefined;

/** The style sheet; made when the first page is shown, since the application may be built just before that. */
export function pageStyle(): PageStyle {
  if (made) return made;
  const built = existsSync(assets) ? readdirSync(assets) : [];
  const own = ['base', 'consent'].map((name) =>
    readFileSync(path.join(import.meta.dirname, 'style', `${name}.css`), 'utf8'),
  );
  const css = [colours(), fonts(built), ...own].join('\n');
  made = {
    css,
    href: `/page.css?v=${createHash('sha256').update(css).digest('hex').slice(0, 12)}`,
    fontHrefs: built.filter((name) => /-latin-wght-normal-.*\.woff2$/.test(name)).map((name) => `/assets/${name}`),
  };
  return made;
}

/** Serves the style sheet, under a name that changes with it. */
export function servePageStyle(app: Hono): void {
  app.get('/page.css', (c) => {
    c.header('Content-Type', 'text/css; charset=utf-8');
    c.header('Cache-Control', c.req.query('v') === undefined ? 'no-cache' : 'public, max-age=31536000, immutable');
    return c.body(pageStyle().css);
  });
}
