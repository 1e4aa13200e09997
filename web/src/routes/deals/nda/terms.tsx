import { cx } from '../../../lib/cx.ts';

/** The text of an agreement, set for reading; a line in capitals is its heading. */
export function Terms({ text, className }: { text: string; className?: string }) {
  return (
    <div className={cx('flex max-w-prose flex-col gap-3 font-serif text-md text-ink', className)}>
      {text.split(/\n{2,}/).map((paragraph, place) => (
        // Paragraphs of a text that never changes.
        <p key={place} className={cx('whitespace-pre-line', /^\P{Ll}+$/u.test(paragraph) && 'font-semibold')}>
          {paragraph}
        </p>
      ))}
    </div>
  );
}
