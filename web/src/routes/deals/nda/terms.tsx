import { cx } from '../../../lib/cx.ts';

/** Whether a paragraph has letters in capitals alone. Letters of scripts without capitals are none. */
const isInCapitals = (paragraph: string): boolean => /^[^\p{Ll}\p{Lo}]*\p{Lu}[^\p{Ll}\p{Lo}]*$/u.test(paragraph);

/** The text of an agreement, formatted for reading; paragraphs in capitals are set as headings. */
export function Terms({ text, className }: { text: string; className?: string }) {
  return (
    <div className={cx('flex max-w-prose flex-col gap-3 font-serif text-md text-ink', className)}>
      {text.split(/\n{2,}/).map((paragraph, place) => (
        // The text never changes, so an index is a stable key.
        <p key={place} className={cx('whitespace-pre-line', isInCapitals(paragraph) && 'font-semibold')}>
          {paragraph}
        </p>
      ))}
    </div>
  );
}
