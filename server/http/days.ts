/** The day of an instant as mails and pages of the server write it, in UTC: 22 December 2026. */
export const dayInWords = (time: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time));
