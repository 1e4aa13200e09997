import { useNow } from './use-now.ts';

/** Whether a time has passed; false when there is none. */
export function useIsOver(at: string | null | undefined): boolean {
  const now = useNow('half-minute');
  return at !== null && at !== undefined && new Date(at).getTime() <= now;
}
