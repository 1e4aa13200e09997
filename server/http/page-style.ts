/**
 * The style sheet of the pages that the server renders: the application's colours and fonts, and the style sheets in
 * style/.
 */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Hono } from 'hono';

const web = path.join(import.meta.dirname, '../../web');
const assets = path.join(web, 'dist/assets');

/** A style sheet of the application; empty if only the application's build was deployed. */
function ofApplication(name: string): string {
  const file = path.join(web, 'src/styles', name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/**
 * The colours: dark if the system is dark, unless the person chose a theme in the application, which pages.ts sets on
 * the root element.
 */
function colours(): string {
  const tokens = ofApplication('tokens.css');
  const dark = /:root\[data-theme='dark'\] (\{[^}]*\})/.exec(tokens)?.[1] ?? '{}';
  return `${tokens}\n@media (prefers-color-scheme: dark) {\n:root:not([data-theme]) ${dark}\n}`;
}

/** The font files in the build, under the URLs that the application uses, so that a browser loads each of them once. */
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
  /** URL of the style sheet, which changes with its content. */
  readonly href: string;
  /** The fonts that nearly every page uses, to be preloaded with the style sheet. */
  readonly fontHrefs: readonly string[];
}

let made: PageStyle | undefined;

/** The style sheet; built for the first page, since the application may be built only shortly before. */
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

/** Serves the style sheet at a URL that changes with its content. */
export function servePageStyle(app: Hono): void {
  app.get('/page.css', (c) => {
    c.header('Content-Type', 'text/css; charset=utf-8');
    c.header('Cache-Control', c.req.query('v') === undefined ? 'no-cache' : 'public, max-age=31536000, immutable');
    return c.body(pageStyle().css);
  });
}
