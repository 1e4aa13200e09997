/** Writes calendars as defined in RFC 5545: lines of at most 75 octets, each ended by CRLF. */

import { dayAfter } from '../domain/diligence/calendar.ts';

/** A calendar entry: a day, or a point in time. */
export interface CalendarEvent {
  /** Constant for the same record (section 3.8.4.7). */
  readonly uid: string;
  /** A point in time, or a day as YYYY-MM-DD. */
  readonly at: Date | string;
  readonly summary: string;
  readonly description: string;
  readonly url: string;
  readonly begunAt: Date;
  readonly changedAt: Date;
}

const encoder = new TextEncoder();

/** Folds a content line (section 3.1): no part is longer than 75 octets, and no character is split. */
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

/** A value of the type TEXT (section 3.3.11), without control characters, which the type does not allow. */
export const textValue = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[\\;,]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll(/\p{Cc}/gu, '');

/** A timestamp in UTC (section 3.3.5, form 2). */
const moment = (at: Date): string => at.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
/** A day (section 3.3.4). */
const date = (day: string): string => day.replaceAll('-', '');

/**
 * Start and end. A day ends where the next begins; a timestamp needs no end, as the event then ends when it starts
 * (section 3.6.1).
 */
const times = (at: Date | string): string[] =>
  typeof at === 'string'
    ? [`DTSTART;VALUE=DATE:${date(at)}`, `DTEND;VALUE=DATE:${date(dayAfter(at))}`]
    : [`DTSTART:${moment(at)}`];

/**
 * SEQUENCE must grow with each change (section 3.8.7.4): it is the number of seconds from creation to the last change.
 */
const sequence = (begun: Date, changed: Date): number =>
  Math.max(0, Math.floor((changed.getTime() - begun.getTime()) / 1000));

const eventLines = ({ uid, at, summary, description, url, begunAt, changedAt }: CalendarEvent): string[] => [
  'BEGIN:VEVENT',
  `UID:${uid}`,
  // Without METHOD, this is the time of the last revision (section 3.8.7.2).
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

// A calendar must have at least one component (section 3.6).
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

/** A calendar with this name and these events, which clients should refresh every hour (RFC 7986). */
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
