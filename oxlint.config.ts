/** The lint rules; which folder may import which is said once, in the table below. */

import type { OxlintConfig, OxlintOverride } from 'oxlint';

const foundation = ['config.ts', 'counts.ts', 'fair-queue.ts', 'log.ts', 'secrets.ts'];
const beneathInterfaces = [
  ...foundation,
  'services.ts',
  'database',
  'domain',
  'storage',
  'documents',
  'mail',
  'webhooks',
  'http',
];

/** What each folder of `server/` may import of the others. A folder or file that is not named here imports what it likes. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  database: foundation,
  domain: ['database', 'fair-queue.ts', 'secrets.ts'],
  storage: foundation,
  documents: [...foundation, 'services.ts', 'database', 'domain', 'storage'],
  http: beneathInterfaces,
  mail: [...foundation, 'services.ts', 'database', 'domain', 'http'],
  webhooks: [...foundation, 'services.ts', 'database', 'domain', 'http'],
  rest: beneathInterfaces,
  oauth: beneathInterfaces,
  tools: beneathInterfaces,
  auth: beneathInterfaces,
  web: beneathInterfaces,
  cli: [...beneathInterfaces, 'app.ts', 'scheduled-jobs.ts'],
};

/** Everything in `server/` that can be imported. */
const parts = [...new Set([...Object.keys(mayImport), ...Object.values(mayImport).flat(), 'interfaces.ts'])];

/** server/web, and not web/src of the application, from whose paths.ts the server learns where pages are: no look-ahead is known here. */
const serverWeb = 'web(/([^s]|s[^r])|$)';

interface Forbidden {
  readonly regex: string;
  readonly message: string;
  readonly allowTypeImports?: boolean;
}

const restricted = (files: string, ...patterns: Forbidden[]): OxlintOverride => ({
  files: [files],
  rules: { 'no-restricted-imports': ['error', { patterns }] },
});

const listed = (names: readonly string[]): string => names.map((name) => name.replace('.', '\\.')).join('|');

function importsOf([folder, allowed]: [string, readonly string[]]): OxlintOverride {
  const others = parts.filter((part) => part !== folder && !allowed.includes(part));
  const named = `(${listed(others.filter((part) => part !== 'web'))})(/|$)`;
  const web = others.includes('web') ? `|${folder === 'http' ? serverWeb : 'web(/|$)'}` : '';
  const beyond = {
    regex: `^(\\.\\./)+(server/)?(${named}${web})`,
    message: `server/${folder} may import of server/: ${allowed.join(', ')}. See oxlint.config.ts.`,
  };
  const http = { regex: '^(hono|@hono/|@modelcontextprotocol/)', message: `server/${folder} knows no HTTP.` };
  return restricted(`server/${folder}/**`, beyond, ...(allowed.includes('http') ? [] : [http]));
}

export default {
  jsPlugins: ['./oxlint.exact.js'],
  plugins: ['typescript', 'import', 'unicorn', 'oxc', 'react', 'jsx-a11y'],
  categories: { correctness: 'error', suspicious: 'error' },
  env: { node: true, es2024: true },
  ignorePatterns: ['web/dist', 'dist'],
  rules: {
    'typescript/no-explicit-any': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-named-as-default-member': 'off',
    'import/no-unassigned-import': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'eslint/no-new': 'off',
    'react/react-in-jsx-scope': 'off',
    'react/incompatible-library': 'off',
    'react/memo-dependencies': 'off',
    'react/exhaustive-effect-dependencies': 'off',
    'jsx-a11y/prefer-tag-over-role': 'off',
    'unicorn/require-post-message-target-origin': 'off',
  },
  overrides: [
    ...Object.entries(mayImport).map(importsOf),
    {
      files: ['server/domain/diligence/**', 'server/domain/offers/**'],
      rules: { 'exact/no-float': 'error' },
    },
    {
      files: ['web/src/**'],
      excludeFiles: ['web/src/lib/pixels.ts', 'web/src/lib/whole-number.ts'],
      rules: { 'exact/no-number-of-text': 'error' },
    },
    restricted(
      'web/src/**',
      {
        regex: `^(\\.\\./)+(server/(${listed(parts)})|(database|test)/)`,
        message: 'The web application knows the service by its interfaces alone.',
      },
      {
        regex: '^(\\.\\./)+server/contract\\.ts$',
        message:
          'The web application takes nothing but types of server/contract.ts: nothing of the server runs in a browser.',
        allowTypeImports: true,
      },
    ),
  ],
} satisfies OxlintConfig;
