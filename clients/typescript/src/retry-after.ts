/** When the service wants to be asked again. */

/** The seconds of a Retry-After: a number of them, or a date; null when it says nothing. */
export function retryAfterOf(response: Response): number | null {
  const header = response.headers.get('retry-after');
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const until = Date.parse(header);
  return Number.isNaN(until) ? null : Math.max(0, (until - Date.now()) / 1_000);
}
