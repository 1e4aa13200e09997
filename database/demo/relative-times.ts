/** Times of the demo, relative to its load, so that the demo is never out of date. */

/**
 * A time of day in UTC, this many days before the load (negative: after it), or a time this many minutes before the
 * load.
 */
export type RelativeTime = { readonly daysAgo: number; readonly time: string } | { readonly minutesAgo: number };

/** Returns the time this many days ago; the time of day defaults to the middle of an American working day. */
export const ago = (daysAgo: number, time = '16:40'): RelativeTime => ({ daysAgo, time });

/** Returns the time this many days from now. */
export const ahead = (days: number, time = '21:00'): RelativeTime => ago(-days, time);

/** Returns the time this many minutes before the load. */
export const minutesAgo = (minutes: number): RelativeTime => ({ minutesAgo: minutes });

export interface Month {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
}

const dayMillis = 86_400_000;
const isoDate = (date: Date): string => date.toISOString().slice(0, 10);

/** Converts relative times to dates, counted from `now`. */
export class Calendar {
  readonly now: Date;
  readonly #midnight: number;

  constructor(now: Date) {
    this.now = now;
    this.#midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  }

  at(time: RelativeTime): Date {
    if ('minutesAgo' in time) return new Date(this.now.getTime() - time.minutesAgo * 60_000);
    const [hours = 0, minutes = 0] = time.time.split(':').map(Number);
    return new Date(this.#midnight - time.daysAgo * dayMillis + (hours * 60 + minutes) * 60_000);
  }

  /** Returns the date as YYYY-MM-DD. */
  date(time: RelativeTime): string {
    return isoDate(this.at(time));
  }
}

/** Returns the last `count` months that were complete at that time, oldest first. */
export function monthsBefore(at: Date, count: number): Month[] {
  return Array.from({ length: count }, (_, index) => {
    const first = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - count + index, 1));
    return { year: first.getUTCFullYear(), month: first.getUTCMonth() + 1 };
  });
}

/** Returns the last calendar year that was complete at that time. */
export const yearBefore = (at: Date): number => at.getUTCFullYear() - 1;

/** Returns the first and last day of a month, as YYYY-MM-DD. */
export function daysOf({ year, month }: Month): { first: string; last: string } {
  return { first: isoDate(new Date(Date.UTC(year, month - 1, 1))), last: isoDate(new Date(Date.UTC(year, month, 0))) };
}
