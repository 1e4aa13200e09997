/** Where to go after signing in: `path` when it is one of our own, else home. What leads to another site is refused. */
export function safeReturnPath(path: string): string {
  if (!path.startsWith('/') || /[\p{Cc}\s\\]/u.test(path)) return '/';
  const url = URL.parse(path, window.location.origin);
  if (!url || url.origin !== window.location.origin || url.pathname.startsWith('//')) return '/';
  return url.pathname + url.search + url.hash;
}
