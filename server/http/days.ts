const nameOfZone = (language: string, timeZone: string, time: Date): string =>
  new Intl.DateTimeFormat(language, { timeZone, timeZoneName: 'short' })
    .formatToParts(time)
    .find(({ type }) => type === 'timeZoneName')?.value ?? timeZone;

function timeInZone(time: Date, timeZone: string): string {
  const said = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone }).format(time);
  // American English has names for the zones of America (EST), British English for those of Europe (CET); neither has
  // any for others: GMT+5:30.
  const [american = '', british = ''] = ['en-US', 'en-GB'].map((language) => nameOfZone(language, timeZone, time));
  return `${said} ${american.startsWith('GMT') ? british : american}`;
}

/**
 * A time as mails show it, marked with its zone: 22 December 2026 at 20:00 UTC. The zone is that of the reader; null when
 * it is not known.
 */
export function timeInWords(time: string, timeZone: string | null = null): string {
  try {
    return timeInZone(new Date(time), timeZone ?? 'UTC');
  } catch {
    // PostgreSQL knows zones that this Node.js does not.
    return timeInZone(new Date(time), 'UTC');
  }
}

/** The date of a time as the server's pages show it, in UTC: 22 December 2026. */
export const dayInWords = (time: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time));
