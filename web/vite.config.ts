/**
 * How the web application is built: into web/dist, every hashed file also as Brotli and gzip, fonts preloaded; and the views
 * that MCP hosts show, beside it.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { build, defineConfig, type Plugin } from 'vite';
import viewsConfig from './views.config.ts';

const here = import.meta.dirname;

// Also when tests build it: React's development build is twice the size.
if (process.argv.includes('build')) process.env.NODE_ENV = 'production';

/** Fonts are found late, in the style sheet; a preload in the page has them arrive with it, so that text does not jump. */
function preloadFonts(): Plugin {
  return {
    name: 'dealkeep:preload-fonts',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle }) =>
        Object.keys(bundle ?? {})
          .filter((file) => /-latin-wght-normal.*\.woff2$/.test(file))
          .map((file) => ({
            tag: 'link',
            attrs: { rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: '', href: `/${file}` },
            injectTo: 'head' as const,
          })),
    },
  };
}

/** Compresses once, at build time and as well as it gets, what the server would otherwise compress over and over. */
function compressed(): Plugin {
  return {
    name: 'dealkeep:compressed',
    apply: 'build',
    enforce: 'post',
    closeBundle: {
      sequential: true,
      order: 'post',
      async handler() {
        const dist = join(here, 'dist');
        const files = await readdir(dist, { recursive: true });
        const texts = files.filter((file) => /\.(js|css|html|svg|webmanifest)$/.test(file));
        await Promise.all(
          texts.map(async (file) => {
            const body = await readFile(join(dist, file));
            const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };
            await writeFile(join(dist, `${file}.br`), await promisify(brotliCompress)(body, quality));
            await writeFile(join(dist, `${file}.gz`), await promisify(gzip)(body, { level: 9 }));
          }),
        );
      },
    },
  };
}

/** Builds the views once everything else is in the folder: they are sent within messages, and never compressed. */
function views(): Plugin {
  return {
    name: 'dealkeep:views-beside',
    apply: 'build',
    enforce: 'post',
    closeBundle: {
      sequential: true,
      order: 'post',
      async handler() {
        await build({ ...viewsConfig, configFile: false });
      },
    },
  };
}

const backend = process.env.DEALKEEP_ORIGIN ?? 'http://127.0.0.1:3000';
// The backend takes changes from its own origin alone.
const proxied = { target: backend, headers: { origin: backend } };

export default defineConfig({
  root: here,
  plugins: [react(), tailwindcss(), preloadFonts(), compressed(), views()],
  resolve: {
    // Radix locks scrolling with a <style> element, which the content security policy refuses; ours adopts a sheet.
    alias: { 'react-style-singleton': join(here, 'src/lib/style-singleton.ts') },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          // What hardly changes between releases stays in a browser's cache; what nearly every page uses comes at once.
          groups: [
            {
              name: 'framework',
              test: /node_modules[/](react|react-dom|scheduler|@tanstack[/](?!.*virtual).*)[/]/,
              priority: 2,
            },
            { name: 'common', test: /[/](src|lucide-react|@radix-ui|@floating-ui)[/]/, minShareCount: 5, priority: 1 },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': proxied, '/.well-known': proxied } },
});
