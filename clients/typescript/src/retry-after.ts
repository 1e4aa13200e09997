/** Reads the header Retry-After. */

/** The seconds to wait according to Retry-After, which has a number of seconds or a date; null if it is missing or invalid. */
export function retryAfterOf(response: Response): number | null {
  const header = response.headers.get('retry-after');
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const until = Date.parse(header);
  return Number.isNaN(until) ? null : Math.max(0, (until - Date.now()) / 1_000);
}
