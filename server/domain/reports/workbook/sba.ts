/** The sheet of the SBA's rules, applied to each offer. */

import { day, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { sbaInWords, sbaSentence } from '../words.ts';
import { below, titled, type Row } from './layout.ts';

/** Returns the sheet of the SBA’s rules; null when no offer is compared with them. */
export function sbaSheet({ offers: { items, sba_rules: rules } }: ReportContents): ReportSheet | null {
  const rows = items.flatMap(({ buyer, sba }) =>
    (sba ?? []).map(({ id, answer }): Row => {
      const rule = rules.find((one) => one.id === id);
      const [result, sentence] = sbaInWords(answer);
      return [
        text(buyer, { wrap: true }),
        text(result),
        text(sentence, { wrap: true }),
        text(rule?.rule ?? id, { wrap: true }),
        text(rule?.citation ?? '', { wrap: true }),
        rule ? day(rule.effective) : null,
      ];
    }),
  );
  if (rows.length === 0) return null;
  return {
    name: 'SBA rules',
    widths: [24, 9, 48, 48, 28, 11],
    rows: [
      ...titled('SBA 7(a) rules', sbaSentence, [
        head('Buyer', false),
        head('Answer', false),
        head('Why, or what to ask', false),
        head('Rule', false),
        head('Source', false),
        head('Since', false),
      ]),
      ...rows,
    ],
    frozen: below,
    landscape: true,
  };
}
