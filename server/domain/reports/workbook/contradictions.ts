/** The sheet of contradictions in the books, with their answers. */

import { answerInWords } from '../../diligence/contradiction-answers.ts';
import { head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { below, titled } from './layout.ts';

/** Returns the sheet of contradictions; null when the reader sees none. */
export function contradictionsSheet({ computed: { contradictions } }: ReportContents): ReportSheet | null {
  const { explained } = contradictions;
  const items = [...contradictions.items, ...explained.items];
  if (items.length === 0) return null;
  const more = contradictions.count + explained.count - items.length;
  return {
    name: 'Contradictions',
    widths: [66, 50, 50],
    rows: [
      ...titled(
        'Contradictions',
        'Where the uploaded figures contradict themselves, what to ask, and the broker’s answer.',
        [head('Contradiction', false), head('What to ask', false), head('Answer', false)],
      ),
      ...items.map(({ sentence, ask, answer }) => [
        text(sentence, { wrap: true }),
        answer ? null : text(ask, { wrap: true }),
        answer ? text(answerInWords(answer), { wrap: true }) : null,
      ]),
      ...(more > 0 ? [[text(`And ${more} more.`, { faint: true })]] : []),
    ],
    frozen: below,
    landscape: true,
  };
}
