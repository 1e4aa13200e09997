/** A time as mails write it, in UTC, which it says, since nobody's zone is known there: 22 December 2026 at 20:00 UTC. */
export const timeInWords = (time: string): string =>
  `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(time))} UTC`;

/** The day of an instant as pages of the server write it, in UTC: 22 December 2026. */
export const dayInWords = (time: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time));
