/** Finds routes as Hono does, and caches the result for paths declared without parameters. */

import type { Result, Router } from 'hono/router';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { SmartRouter } from 'hono/router/smart-router';
import { TrieRouter } from 'hono/router/trie-router';

const hasParameters = /[:*{]/;

/** A router that searches once for each method of each path without parameters. */
export function cachingRouter<T>(): Router<T> {
  const router = new SmartRouter<T>({ routers: [new RegExpRouter(), new TrieRouter()] });
  const declared = new Set<string>();
  // Bounded: at most one entry for each declared path and method that Node.js parses.
  const found = new Map<string, Result<T>>();
  return {
    name: 'RememberingRouter',
    add(method, path, handler) {
      if (!hasParameters.test(path)) declared.add(path);
      router.add(method, path, handler);
    },
    match(method, path) {
      if (!declared.has(path)) return router.match(method, path);
      const key = `${method} ${path}`;
      let result = found.get(key);
      if (result === undefined) found.set(key, (result = router.match(method, path)));
      return result;
    },
  };
}
