const nowhere = 'http://origin.invalid';

/**
 * Where to go after signing in: `value` when it is a path on our own origin, else home. What a browser could read as
 * another origin (`//host`, `/\host`, `https:host`, control characters, `/..//host`) is refused; the query is kept byte
 * for byte.
 */
export function safeReturnPath(value: string): string {
  if (value.length > 16_384 || !value.startsWith('/')) return '/';
  // Browsers drop tabs and newlines from a URL and read backslashes as slashes, so none may be there at all.
  if (/[\p{Cc}\s\\]/u.test(value)) return '/';
  const url = URL.parse(value, nowhere);
  if (url === null || url.origin !== nowhere || url.pathname.startsWith('//')) return '/';
  return url.pathname + url.search + url.hash;
}
