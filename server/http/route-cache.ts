/** Finds routes as Hono does, and remembers what it found for the paths that are declared without parameters. */

import type { Result, Router } from 'hono/router';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { SmartRouter } from 'hono/router/smart-router';
import { TrieRouter } from 'hono/router/trie-router';

const hasParameters = /[:*{]/;

/** A router that looks for each method of each such path once. */
export function cachingRouter<T>(): Router<T> {
  const router = new SmartRouter<T>({ routers: [new RegExpRouter(), new TrieRouter()] });
  const declared = new Set<string>();
  // No more than the methods that Node.js reads for each declared path.
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
