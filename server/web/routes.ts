/** The web routes: the JSON that the application's pages ask for, and the plain settings pages, which work without scripts. */

import { Hono } from 'hono';
import type { Services } from '../services.ts';
import { bodyAtMost } from '../http/bounded-body.ts';
import { csrfGuard } from '../http/csrf.ts';
import { problem } from '../http/pages.ts';
import { apiRoutes } from './api/routes.ts';
import { clientToolPages } from './plain/client-tools.ts';
import { clientPages } from './plain/clients.ts';
import { dealToolPages } from './plain/deal-tools.ts';
import { keyPages } from './plain/keys.ts';

const largestForm = 65_536;

/** The plain pages, each behind the limit and the guards that every form has. */
export function webRoutes(services: Services): Hono {
  const routes = new Hono();
  routes.route('/api/web', apiRoutes(services));
  const guarded = [
    '/settings/clients',
    '/settings/clients/*',
    '/settings/tools',
    '/settings/deals/*',
    '/settings/keys',
    '/settings/keys/*',
  ];
  for (const path of guarded) {
    routes.use(
      path,
      bodyAtMost(largestForm, (c) => problem(c, 413, 'too_large', 'The form is too large.')),
      csrfGuard,
    );
  }
  routes.route('/', clientPages(services));
  routes.route('/', clientToolPages(services));
  routes.route('/', dealToolPages(services));
  routes.route('/', keyPages(services));
  return routes;
}
