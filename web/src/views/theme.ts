/** Light or dark as the host has it, in the host's colours where it names some; the system's choice otherwise. */

export interface HostContext {
  readonly theme?: unknown;
  readonly styles?: unknown;
}

/** Which of our tokens each of the host's style variables stands for. */
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

/** Takes over what a host says of its looks; what it leaves out stays as it was. */
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
