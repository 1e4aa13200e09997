/** Light or dark theme: the system's unless the person has chosen one. public/theme.js sets it for the first paint. */
import { useSyncExternalStore } from 'react';

type ThemeChoice = 'system' | 'light' | 'dark';

const stored = 'dealkeep.theme';
// Pages that the server renders, including the consent page, read the choice from a cookie.
const cookie = 'dealkeep-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
/** Printing always uses the light theme. */
const print = window.matchMedia('print');
const followers = new Set<() => void>();
let choice: ThemeChoice = read();

function read(): ThemeChoice {
  try {
    // Signing out clears the storage but keeps the cookie.
    const kept =
      localStorage.getItem(stored) ?? new RegExp(`(?:^|; )${cookie}=(dark|light)`).exec(document.cookie)?.[1];
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
}

function apply(): void {
  const dark = !print.matches && (choice === 'system' ? system.matches : choice === 'dark');
  const root = document.documentElement;
  root.dataset.theme = dark ? 'dark' : 'light';
  const paper = getComputedStyle(root).getPropertyValue('--paper');
  document.querySelector('meta[name="theme-color"]')?.setAttribute('content', paper);
  for (const follow of followers) follow();
}

system.addEventListener('change', apply);
print.addEventListener('change', apply);
window.addEventListener('storage', (event) => {
  if (event.key !== stored) return;
  choice = read();
  apply();
});

/** Sets the theme for this tab, the person's other tabs and later visits. */
export function chooseTheme(next: ThemeChoice): void {
  choice = next;
  try {
    if (next === 'system') localStorage.removeItem(stored);
    else localStorage.setItem(stored, next);
    document.cookie = `${cookie}=${next}; path=/; max-age=${next === 'system' ? 0 : 31_536_000}; samesite=lax`;
  } catch {
    // Without storage the choice lasts until the page is left.
  }
  apply();
}

/** Returns the person's choice, and subscribes to it. */
export function useTheme(): ThemeChoice {
  return useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => choice,
  );
}
