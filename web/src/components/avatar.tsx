import { cx } from '../lib/cx.ts';
import { washes } from './badge.tsx';

const tones = ['accent', 'info', 'warn', 'rare', 'good', 'bad'] as const;

function initials(name: string): string {
  // Without a title after the name: "Tobias Renner, CPA" is TR.
  const words = name
    .trim()
    .replace(/^(\S+\s[^,]+),.*/, '$1')
    .split(/\s+/);
  // By code points: a character beyond U+FFFF is two code units.
  const [first = '?'] = words[0] ?? '';
  const [last = ''] = words.length > 1 ? (words.at(-1) ?? '') : '';
  return (first + last).toUpperCase();
}

/**
 * A person's initials, always in the same colour. Hidden from screen readers, as the name itself stands beside the
 * avatar.
 */
export function Avatar({ name, size = 'md' }: { name: string; size?: 'sm' | 'md' | 'lg' }) {
  const hash = [...name].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 9973, 7);
  return (
    <span
      aria-hidden
      className={cx(
        'inline-grid shrink-0 place-items-center rounded-full font-semibold select-none',
        size === 'sm' ? 'size-6 text-[0.625rem]' : size === 'md' ? 'size-8 text-xs' : 'size-11 text-md',
        washes[tones[hash % tones.length] ?? 'plain'],
      )}
    >
      {initials(name)}
    </span>
  );
}
