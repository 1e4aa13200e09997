/** Answers methods that a path does not support. */

import type { Handler } from 'hono';
import { Problem } from '../http/problem.ts';

/**
 * Answers 405 with the supported methods, and OPTIONS with the same `Allow` header but without an error. Pages of other
 * origins may not call (no CORS).
 */
export function only(...methods: string[]): Handler {
  const allow = [...methods, 'OPTIONS'].join(', ');
  return (c) => {
    if (c.req.method === 'OPTIONS') return c.body(null, 204, { Allow: allow });
    const message = `${c.req.method} is not allowed here, only ${allow}.`;
    throw new Problem(405, 'method_not_allowed', message, { headers: { Allow: allow } });
  };
}
