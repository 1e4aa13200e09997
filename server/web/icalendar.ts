/** Writes calendars as RFC 5545 has them: lines of at most 75 octets, each ended by CRLF. */

import { dayAfter } from '../domain/diligence/calendar.ts';

/** An entry of a calendar: a day, or a moment. */
export interface CalendarEvent {
  /** Stays the same as long as it is the same record (section 3.8.4.7). */
  readonly uid: string;
  /** A moment, or a day as YYYY-MM-DD. */
  readonly at: Date | string;
  readonly summary: string;
  readonly description: string;
  readonly url: string;
  readonly begunAt: Date;
  readonly changedAt: Date;
}

const encoder = new TextEncoder();

/** Folds a content line (section 3.1): no part is longer than 75 octets, and no character is divided. */
export function folded(line: string): string {
  let text = '';
  let octets = 0;
  for (const character of line) {
    const size = encoder.encode(character).length;
    if (octets + size > 75) {
      text += '\r\n ';
      octets = 1;
    }
    text += character;
    octets += size;
  }
  return `${text}\r\n`;
}

/** A value of the type TEXT (section 3.3.11); control characters, which it cannot hold, are left out. */
export const textValue = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[\\;,]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll(/\p{Cc}/gu, '');

/** A moment in UTC (section 3.3.5, form 2). */
const moment = (at: Date): string => at.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
/** A day (section 3.3.4). */
const date = (day: string): string => day.replaceAll('-', '');

/** When it is. A day ends where the next begins; without an end, a moment is no longer than that (section 3.6.1). */
const times = (at: Date | string): string[] =>
  typeof at === 'string'
    ? [`DTSTART;VALUE=DATE:${date(at)}`, `DTEND;VALUE=DATE:${date(dayAfter(at))}`]
    : [`DTSTART:${moment(at)}`];

/** How often it was changed has to grow with each change (section 3.8.7.4): the seconds from the beginning to the last one do. */
const sequence = (begun: Date, changed: Date): number =>
  Math.max(0, Math.floor((changed.getTime() - begun.getTime()) / 1000));

const eventLines = ({ uid, at, summary, description, url, begunAt, changedAt }: CalendarEvent): string[] => [
  'BEGIN:VEVENT',
  `UID:${uid}`,
  // Without METHOD it says when the information was revised last (section 3.8.7.2).
  `DTSTAMP:${moment(changedAt)}`,
  ...times(at),
  `SUMMARY:${textValue(summary)}`,
  `DESCRIPTION:${textValue(description)}`,
  `URL:${url}`,
  `CREATED:${moment(begunAt)}`,
  `LAST-MODIFIED:${moment(changedAt)}`,
  `SEQUENCE:${sequence(begunAt, changedAt)}`,
  'CLASS:PRIVATE',
  // The event does not block time in the calendar.
  'TRANSP:TRANSPARENT',
  'END:VEVENT',
];

// A calendar holds at least one component (section 3.6).
const noEvents = [
  'BEGIN:VTIMEZONE',
  'TZID:UTC',
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  'TZOFFSETFROM:+0000',
  'TZOFFSETTO:+0000',
  'END:STANDARD',
  'END:VTIMEZONE',
];

/** A calendar of this name with these entries, to be asked for again after an hour (RFC 7986). */
export function calendar(name: string, events: readonly CalendarEvent[]): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Dealkeep//Deadlines//EN',
    'CALSCALE:GREGORIAN',
    `NAME:${textValue(name)}`,
    `X-WR-CALNAME:${textValue(name)}`,
    'REFRESH-INTERVAL;VALUE=DURATION:PT1H',
    'X-PUBLISHED-TTL:PT1H',
    ...(events.length === 0 ? noEvents : events.flatMap(eventLines)),
    'END:VCALENDAR',
  ];
  return lines.map(folded).join('');
}
