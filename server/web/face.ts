/** The web face: the JSON that the application's pages ask for, and the plain settings pages, which work without scripts. */

import { Hono } from 'hono';
import type { House } from '../context.ts';
import { bodyAtMost } from '../http/bounded-body.ts';
import { csrfGuard } from '../http/csrf.ts';
import { problem } from '../http/pages.ts';
import { apiFace } from './api/face.ts';
import { clientToolPages } from './plain/client-tools.ts';
import { clientPages } from './plain/clients.ts';
import { dealToolPages } from './plain/deal-tools.ts';
import { keyPages } from './plain/keys.ts';

const largestForm = 65_536;

/** The plain pages, each behind the limit and the guards that every form has. */
export function webFace(house: House): Hono {
  const face = new Hono();
  face.route('/api/web', apiFace(house));
  const guarded = [
    '/settings/clients',
    '/settings/clients/*',
    '/settings/tools',
    '/settings/deals/*',
    '/settings/keys',
    '/settings/keys/*',
  ];
  for (const path of guarded) {
    face.use(
      path,
      bodyAtMost(largestForm, (c) => problem(c, 413, 'too_large', 'The form is too large.')),
      csrfGuard,
    );
  }
  face.route('/', clientPages(house));
  face.route('/', clientToolPages(house));
  face.route('/', dealToolPages(house));
  face.route('/', keyPages(house));
  return face;
}
