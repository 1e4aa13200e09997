/**
 * The views that hosts with MCP Apps (SEP-1865, 2026-01-26) show of results: files of the web application's build, one for
 * each view, served as resources. A tool names its view in `_meta`; what it answers stays the same.
 */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Resource } from '@modelcontextprotocol/server';

/** The extension, as clients announce it among their capabilities. */
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

/** The address of a view as a resource. */
export const uriOf = (view: ViewName): string => `ui://dealkeep/${view}`;

const built = path.join(import.meta.dirname, '../../web/dist/views');

/** Every view, each built to one file of this name. */
export const viewNames = Object.keys(titles) as ViewName[];

/** The views as resources, read once; none where the application is not built. A view learns from its file where our pages are. */
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
        // No domains: a view loads nothing, and asks nobody. The host draws the edge.
        _meta: { ui: { csp: {}, prefersBorder: true } },
      },
      text: text.replace('data-origin=""', `data-origin="${new URL(baseUrl).origin}"`),
    };
  });
}
