/** Which folder may import which, as one table, and the lint rule that enforces it. */

import path from 'node:path';

/** Folders that know nothing of the rest of the service. */
const foundation = ['config', 'lib'];
const throughDomain = [...foundation, 'services.ts', 'database', 'domain'];
const beneathInterfaces = [...throughDomain, 'storage', 'documents', 'mail', 'webhooks', 'http', 'telemetry', 'redis'];

/**
 * What each folder of `server/` may import from the others. A folder that is not listed may import nothing; a file
 * directly in `server/` that is not listed assembles the folders, and may import all of them.
 */
const mayImport = {
  lib: [],
  config: ['lib'],
  database: foundation,
  domain: ['database', 'lib'],
  redis: [...foundation, 'database'],
  telemetry: [...foundation, 'database'],
  background: throughDomain,
  storage: [...foundation, 'telemetry'],
  documents: [...throughDomain, 'storage'],
  backup: [...foundation, 'database', 'storage', 'documents'],
  export: [...foundation, 'database', 'domain', 'storage', 'backup'],
  http: beneathInterfaces,
  mail: [...throughDomain, 'http', 'background', 'telemetry'],
  webhooks: [...throughDomain, 'http', 'background'],
  rest: beneathInterfaces,
  oauth: beneathInterfaces,
  tools: beneathInterfaces,
  auth: beneathInterfaces,
  web: [...beneathInterfaces, 'export'],
  cli: [...beneathInterfaces, 'app.ts', 'background.ts', 'background', 'backup', 'export', 'scheduled-jobs.ts'],
};

/** What the server may import from the rest of the repository, and which part of the server may. */
const beyondServer = {
  'package.json': () => true,
  'web/src/paths.ts': (part) => part === 'http',
  'database/demo/load.ts': (part) => part === 'cli',
};

const speaksHttp = /^(hono|@hono|@modelcontextprotocol)(\/|$)/;

/** The error message for an import in a file of `server/`, of a path or a package; null if the import is allowed. */
function faultOnServer([part], target, source) {
  const allowed = mayImport[part] ?? (part.endsWith('.ts') ? null : []);
  if (target === null)
    return allowed !== null && part !== 'http' && !allowed.includes('http') && speaksHttp.test(source)
      ? `server/${part} knows no HTTP.`
      : null;
  const [root, other] = target.split('/');
  if (root !== 'server')
    return beyondServer[target]?.(part) ? null : `server/${part} may not import ${target}. See oxlint.imports.js.`;
  return allowed === null || other === part || allowed.includes(other)
    ? null
    : `server/${part} may import of server/: ${allowed.join(', ')}. See oxlint.imports.js.`;
}

/** The same for an import in a file of `web/src/`. */
function faultInBrowser(target, isType) {
  if (target === null || target.startsWith('web/')) return null;
  if (target !== 'server/contract.ts') return 'The web application knows the service by its interfaces alone.';
  return isType
    ? null
    : 'The web application takes nothing but types of server/contract.ts: nothing of the server runs in a browser.';
}

const direction = {
  meta: { type: 'problem', docs: { description: 'Imports run one way.' } },
  create(context) {
    const file = path.relative(import.meta.dirname, context.filename).split(path.sep);
    const check = (isType) => (node) => {
      const source = node.source?.value;
      if (typeof source !== 'string') return;
      const target = source.startsWith('.')
        ? path.posix.normalize(path.posix.join(...file.slice(0, -1), source))
        : null;
      const message =
        file[0] === 'server'
          ? faultOnServer(file.slice(1), target, source)
          : faultInBrowser(target, isType || node.importKind === 'type' || node.exportKind === 'type');
      if (message !== null) context.report({ node, message });
    };
    return {
      ImportDeclaration: check(false),
      ExportNamedDeclaration: check(false),
      ExportAllDeclaration: check(false),
      ImportExpression: check(false),
      TSImportType: check(true),
    };
  },
};

export default { meta: { name: 'imports' }, rules: { direction } };
