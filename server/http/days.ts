/**
 * A time as mails show it, in UTC and marked as such, since the reader's time zone is unknown: 22 December 2026 at
 * 20:00 UTC.
 */
export const timeInWords = (time: string): string =>
  `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(time))} UTC`;

/** The date of a time as the server's pages show it, in UTC: 22 December 2026. */
export const dayInWords = (time: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time));
