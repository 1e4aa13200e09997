/** Light or dark as in the host, with the colours that the host names; otherwise the system's choice. */

export interface HostContext {
  readonly theme?: unknown;
  readonly styles?: unknown;
}

/** The tokens of ours that each style variable of the host sets. */
const meanings: Readonly<Record<string, readonly string[]>> = {
  '--color-background-primary': ['--surface', '--paper'],
  '--color-background-secondary': ['--sunken', '--hover'],
  '--color-text-primary': ['--ink'],
  '--color-text-secondary': ['--soft', '--faint'],
  '--color-border-primary': ['--line', '--chart-grid'],
  '--color-ring-primary': ['--focus'],
};

const system = window.matchMedia('(prefers-color-scheme: dark)');
let chosen: 'light' | 'dark' | null = null;

function show(): void {
  document.documentElement.dataset['theme'] = chosen ?? (system.matches ? 'dark' : 'light');
}

system.addEventListener('change', show);
show();

/** Applies the theme and styles of a host; values that it omits stay unchanged. */
export function applyTheme({ theme, styles }: HostContext): void {
  if (theme === 'light' || theme === 'dark') chosen = theme;
  show();
  const { variables } = Object(styles) as { variables?: unknown };
  for (const [name, value] of Object.entries(Object(variables) as Record<string, unknown>)) {
    if (typeof value !== 'string') continue;
    const { style } = document.documentElement;
    if (name === '--font-sans') style.setProperty(name, value);
    else if (CSS.supports('color', value)) for (const token of meanings[name] ?? []) style.setProperty(token, value);
  }
}
