import { cx } from '../../../lib/cx.ts';

/** The text of an agreement, formatted for reading; paragraphs in capitals are set as headings. */
export function Terms({ text, className }: { text: string; className?: string }) {
  return (
    <div className={cx('flex max-w-prose flex-col gap-3 font-serif text-md text-ink', className)}>
      {text.split(/\n{2,}/).map((paragraph, place) => (
        // The text never changes, so an index is a stable key.
        <p key={place} className={cx('whitespace-pre-line', /^\P{Ll}+$/u.test(paragraph) && 'font-semibold')}>
          {paragraph}
        </p>
      ))}
    </div>
  );
}
