/** The lint rules. Which folder may import which is defined in oxlint.imports.js alone. */

import type { OxlintConfig } from 'oxlint';

export default {
  jsPlugins: ['./oxlint.exact.js', './oxlint.imports.js'],
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
    {
      files: ['server/**', 'web/src/**'],
      rules: { 'imports/direction': 'error' },
    },
    {
      files: ['server/domain/diligence/**', 'server/domain/offers/**'],
      rules: { 'exact/no-float': 'error' },
    },
    {
      files: ['web/src/**'],
      excludeFiles: ['web/src/lib/pixels.ts', 'web/src/lib/whole-number.ts'],
      rules: { 'exact/no-number-of-text': 'error' },
    },
  ],
} satisfies OxlintConfig;
