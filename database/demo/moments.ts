/** Times of the demo, told as distances from the moment of loading, so that the demo is never out of date. */

/** A moment so many days before (negative: after) the load, at a time of day in UTC; or so many minutes before it. */
export type Moment = { readonly daysAgo: number; readonly time: string } | { readonly minutesAgo: number };

/** So many days ago; without a time, in the middle of an American working day. */
export const ago = (daysAgo: number, time = '16:40'): Moment => ({ daysAgo, time });

/** So many days from now. */
export const ahead = (days: number, time = '21:00'): Moment => ago(-days, time);

export const minutesAgo = (minutes: number): Moment => ({ minutesAgo: minutes });

export interface Month {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
}

const dayMillis = 86_400_000;
const isoDate = (date: Date): string => date.toISOString().slice(0, 10);

/** Turns moments into times, counted from `now`. */
export class Calendar {
  readonly now: Date;
  readonly #midnight: number;

  constructor(now: Date) {
    this.now = now;
    this.#midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  }

  at(moment: Moment): Date {
    if ('minutesAgo' in moment) return new Date(this.now.getTime() - moment.minutesAgo * 60_000);
    const [hours = 0, minutes = 0] = moment.time.split(':').map(Number);
    return new Date(this.#midnight - moment.daysAgo * dayMillis + (hours * 60 + minutes) * 60_000);
  }

  /** YYYY-MM-DD */
  date(moment: Moment): string {
    return isoDate(this.at(moment));
  }
}

/** The last `count` months that were over at that time, oldest first. */
export function monthsBefore(at: Date, count: number): Month[] {
  return Array.from({ length: count }, (_, index) => {
    const first = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - count + index, 1));
    return { year: first.getUTCFullYear(), month: first.getUTCMonth() + 1 };
  });
}

/** The last calendar year that was over at that time. */
export const yearBefore = (at: Date): number => at.getUTCFullYear() - 1;

/** The first and last day of a month, as YYYY-MM-DD. */
export function daysOf({ year, month }: Month): { first: string; last: string } {
  return { first: isoDate(new Date(Date.UTC(year, month - 1, 1))), last: isoDate(new Date(Date.UTC(year, month, 0))) };
}
