/**
 * How the views that MCP hosts show are built: into web/dist/views, a file each with its script and styles in it, which loads
 * nothing. They are the application's components on Preact: React's own renderer alone is larger than a view may be.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig, type Plugin } from 'vite';
import { viewNames } from '../server/tools/views.ts';

const here = import.meta.dirname;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** No script or style but those in the file, and no request to anywhere. */
function policyOf(script: string, style: string): string {
  return `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
}

/** The server puts its own address into `data-origin`. */
const page = (name: string, script: string, style: string): string => `<!doctype html>
<html lang="en" data-origin="">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyOf(script, style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dealkeep</title>
<style>${style}</style>
</head>
<body>
<div id="root" data-view="${name}"></div>
<script>${script}</script>
</body>
</html>
`;

/** Puts the one script and the one style sheet into a file for each view. */
function files(): Plugin {
  return {
    name: 'dealkeep:views',
    enforce: 'post',
    generateBundle(_options, bundle) {
      let [script, style] = ['', ''];
      for (const [file, made] of Object.entries(bundle)) {
        if (made.type === 'chunk') script += made.code;
        else style += String(made.source);
        delete bundle[file];
      }
      // What would end the element, or begin a comment in it.
      script = script.trim().replaceAll(/<(?=\/script|!--)/gi, '\\x3C');
      style = style.trim();
      if (/<\/style/i.test(style)) throw new Error('The style sheet would end its element.');
      for (const name of viewNames)
        this.emitFile({ type: 'asset', fileName: `${name}.html`, source: page(name, script, style) });
    },
  };
}

export default defineConfig({
  root: here,
  logLevel: 'error',
  publicDir: false,
  plugins: [tailwindcss(), files()],
  resolve: {
    alias: [
      { find: /^react$/, replacement: 'preact/compat' },
      { find: /^react-dom\/client$/, replacement: 'preact/compat/client' },
      { find: /^react\/jsx-runtime$/, replacement: 'preact/jsx-runtime' },
    ],
  },
  build: {
    outDir: 'dist/views',
    emptyOutDir: true,
    modulePreload: false,
    cssCodeSplit: false,
    rolldownOptions: { input: join(here, 'src/views/main.tsx'), output: { format: 'iife' } },
  },
});
