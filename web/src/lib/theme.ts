/** Light or dark: the system's choice unless the person made their own. The first paint is up to public/theme.js. */
import { useSyncExternalStore } from 'react';

type ThemeChoice = 'system' | 'light' | 'dark';

const stored = 'dealkeep.theme';
// The pages that the server draws, the one that asks for consent among them, know of the choice by a cookie.
const cookie = 'dealkeep-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
/** Paper is white. */
const print = window.matchMedia('print');
const followers = new Set<() => void>();
let choice: ThemeChoice = read();

function read(): ThemeChoice {
  try {
    // Signing out clears the storage, and leaves the cookie.
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

/** Chooses a theme, here and for the person's other tabs and later visits. */
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

/** The person's choice, followed. */
export function useTheme(): ThemeChoice {
  return useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => choice,
  );
}
