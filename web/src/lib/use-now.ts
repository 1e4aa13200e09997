/** The current time, to which components can subscribe. All subscribers with the same interval share one timer. */
import { useSyncExternalStore } from 'react';

function ticker(every: number) {
  const followers = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let now = Date.now();
  const tick = () => {
    now = Date.now();
    for (const follow of followers) follow();
  };
  return {
    read: () => now,
    subscribe: (follow: () => void) => {
      if (followers.size === 0) {
        now = Date.now();
        timer = setInterval(tick, every);
      }
      followers.add(follow);
      return () => {
        followers.delete(follow);
        if (followers.size === 0) clearInterval(timer);
      };
    },
  };
}

const seconds = ticker(1_000);
const halfMinutes = ticker(30_000);

/**
 * Returns the current time in milliseconds, updated every second within an hour of `at`, otherwise every half minute:
 * whatever shows the same time changes at once.
 */
export function useNowNear(at: number): number {
  const isNear = Math.abs(at - useNow('half-minute')) < 3_600_000;
  return useNow(isNear ? 'second' : 'half-minute');
}

/** Returns the current time in milliseconds, updated every second or every half minute. */
export function useNow(rhythm: 'second' | 'half-minute'): number {
  const { subscribe, read } = rhythm === 'second' ? seconds : halfMinutes;
  return useSyncExternalStore(subscribe, read);
}
