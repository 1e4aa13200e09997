import { useSyncExternalStore } from 'react';

/** Whether a media query matches; follows changes. */
function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (follow) => {
      const media = window.matchMedia(query);
      media.addEventListener('change', follow);
      return () => media.removeEventListener('change', follow);
    },
    () => window.matchMedia(query).matches,
  );
}

/** The minimum widths in rem at which a column or a pane appears, as in the style sheet. */
const breakpoints = { sm: 40, md: 48, lg: 64, xl: 80 } as const;

export type Breakpoint = keyof typeof breakpoints;

/** Returns the widest breakpoint that the window reaches, or null below all of them: a phone. */
export function useBreakpoint(): Breakpoint | null {
  const sm = useMedia(`(width >= ${breakpoints.sm}rem)`);
  const md = useMedia(`(width >= ${breakpoints.md}rem)`);
  const lg = useMedia(`(width >= ${breakpoints.lg}rem)`);
  const xl = useMedia(`(width >= ${breakpoints.xl}rem)`);
  return xl ? 'xl' : lg ? 'lg' : md ? 'md' : sm ? 'sm' : null;
}

/** Whether `reached` is `from` or wider. */
export function reaches(reached: Breakpoint | null, from: Breakpoint): boolean {
  return reached !== null && breakpoints[reached] >= breakpoints[from];
}
