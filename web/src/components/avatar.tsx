import { cx } from '../lib/cx.ts';
import { washes } from './badge.tsx';

const tones = ['accent', 'info', 'warn', 'rare', 'good', 'bad'] as const;

function initials(name: string): string {
  // Without a title behind the name: "Tobias Renner, CPA" is TR.
  const words = name
    .trim()
    .replace(/^(\S+\s[^,]+),.*/, '$1')
    .split(/\s+/);
  // By characters: one beyond the first 65,536 is two units of a text, and half of it none.
  const [first = '?'] = words[0] ?? '';
  const [last = ''] = words.length > 1 ? (words.at(-1) ?? '') : '';
  return (first + last).toUpperCase();
}

/** A person's initials, in a colour that stays theirs. The name itself stands beside it, so screen readers pass it over. */
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
