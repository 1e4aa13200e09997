/** What answers the methods that a path does not have. */

import type { Handler } from 'hono';
import { Problem } from '../http/problem.ts';

/** 405 with the methods that there are; OPTIONS is answered the same without an error. Pages of other sites may not call (no CORS). */
export function only(...methods: string[]): Handler {
  const allow = [...methods, 'OPTIONS'].join(', ');
  return (c) => {
    if (c.req.method === 'OPTIONS') return c.body(null, 204, { Allow: allow });
    const message = `${c.req.method} is not possible here, only ${allow}.`;
    throw new Problem(405, 'method_not_allowed', message, { headers: { Allow: allow } });
  };
}
