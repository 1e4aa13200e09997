import { useNowNear } from './use-now.ts';

/** Whether a time has passed; false when there is none. */
export function useIsOver(at: string | null | undefined): boolean {
  const end = at === null || at === undefined ? Infinity : new Date(at).getTime();
  return useNowNear(end) >= end;
}
