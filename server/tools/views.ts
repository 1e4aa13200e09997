/**
 * The views of results for hosts with MCP Apps (SEP-1865, 2026-01-26): files of the web application's build, one for
 * each view, served as resources. A tool names its view in `_meta`; its answers do not change.
 */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Resource } from '@modelcontextprotocol/server';

/** The name of the extension, as clients declare it in their capabilities. */
export const extension = 'io.modelcontextprotocol/ui';
const mimeType = 'text/html;profile=mcp-app';

const titles = {
  monthly: 'Revenue and EBITDA by month',
  bridge: 'From reported to adjusted EBITDA',
  customers: 'Customers with their share of revenue',
  offers: 'Offers side by side',
  conditions: 'Closing conditions with deadlines',
} as const;

export type ViewName = keyof typeof titles;

/** A resource that is the same for every valid token. */
export interface StaticResource {
  readonly listed: Resource;
  readonly text: string;
}

/** The URI of a view as a resource. */
export const uriOf = (view: ViewName): string => `ui://dealkeep/${view}`;

const built = path.join(import.meta.dirname, '../../web/dist/views');

/** The names of all views; each is built to one file of this name. */
export const viewNames = Object.keys(titles) as ViewName[];

/**
 * The views as resources, read once; none when the web application is not built. Each file is given our public origin.
 */
export function readViews(baseUrl: string, directory = built): readonly StaticResource[] {
  if (!viewNames.every((name) => existsSync(path.join(directory, `${name}.html`)))) return [];
  return viewNames.map((name) => {
    const text = readFileSync(path.join(directory, `${name}.html`), 'utf8');
    return {
      listed: {
        uri: uriOf(name),
        name,
        title: titles[name],
        mimeType,
        // No domains: a view loads nothing and makes no requests. The host draws the border.
        _meta: { ui: { csp: {}, prefersBorder: true } },
      },
      text: text.replace('data-origin=""', `data-origin="${new URL(baseUrl).origin}"`),
    };
  });
}
