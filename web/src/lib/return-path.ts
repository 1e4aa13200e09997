const nowhere = 'http://origin.invalid';

/**
 * Returns where to go after signing in: `value` when it is a path on our own origin, otherwise home. Values that a
 * browser could read as another origin (`//host`, `/\host`, `https:host`, control characters, `/..//host`) are
 * rejected; the query is kept byte for byte.
 */
export function safeReturnPath(value: string): string {
  if (value.length > 16_384 || !value.startsWith('/')) return '/';
  // Browsers drop tabs and newlines from a URL and read backslashes as slashes, so all of them are rejected.
  if (/[\p{Cc}\s\\]/u.test(value)) return '/';
  const url = URL.parse(value, nowhere);
  if (url === null || url.origin !== nowhere || url.pathname.startsWith('//')) return '/';
  return url.pathname + url.search + url.hash;
}
