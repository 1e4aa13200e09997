/** Offers side by side: a column for each offer, a row for each term. */
import type { ReactNode } from 'react';
import type { OfferPayload } from '../../api/shapes.ts';
import { cx } from '../../lib/cx.ts';
import { ScrollRegion } from '../scroll-region.tsx';
import { StructureBar } from './structure-bar.tsx';
import { conditionTerms, none, partTerms, TermLabel, wordsOf, type Term } from './terms.tsx';

interface ComparedOffer {
  id: string;
  /** The buyer. */
  name: ReactNode;
  /** When the offer was submitted. */
  note: ReactNode;
  payload: OfferPayload;
}

/** A term, and its value in each offer, in the order of the offers. */
interface ComparedLine {
  key: string;
  label: ReactNode;
  cells: readonly ReactNode[];
  words?: boolean;
}

interface ComparisonTableProps {
  offers: readonly ComparedOffer[];
  /** Lines above the structure: the price. */
  above: readonly ComparedLine[];
  /** The line below the conditions, above the terms in words. */
  standing: ComparedLine;
  below?: readonly ComparedLine[];
}

const first =
  'sticky left-0 z-10 w-48 border-r border-line bg-surface px-5 text-left align-top text-sm font-normal text-faint';

/** A column for each offer, a row for each term; scrolls sideways within itself. */
export function ComparisonTable({ offers, above, standing, below = [] }: ComparisonTableProps) {
  const said = (term: Term): ComparedLine => ({
    key: term.key,
    label: <TermLabel term={term} />,
    cells: offers.map(({ payload }) => term.says(payload)),
  });
  const lines: ComparedLine[] = [
    ...above,
    {
      key: 'structure',
      label: 'Structure',
      cells: offers.map(({ id, payload }) => <StructureBar key={id} payload={payload} className="my-1.5" />),
    },
    ...partTerms.map(said),
    ...conditionTerms.map(said),
    standing,
    { key: 'words', label: 'Terms', cells: offers.map(({ payload }) => wordsOf(payload)), words: true },
    ...below,
  ];
  return (
    <ScrollRegion label="Offers side by side" className="rounded-xl border border-line bg-surface shadow-1">
      <table className="w-full table-fixed border-collapse" style={{ minWidth: `${12 + 15 * offers.length}rem` }}>
        <thead>
          <tr className="border-b border-line">
            <th scope="col" className={cx(first, 'py-4')}>
              Buyer
            </th>
            {offers.map(({ id, name, note }) => (
              <th key={id} scope="col" className="px-5 py-4 text-right align-top">
                <span className="block truncate text-md font-semibold text-ink">{name}</span>
                <span className="block text-sm font-normal text-faint">{note}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ key, label, cells, words }) => (
            <tr key={key} className="border-b border-line last:border-0">
              <th scope="row" className={cx(first, 'py-2.5')}>
                {label}
              </th>
              {cells.map((cell, place) => (
                <td
                  key={offers[place]?.id}
                  className={cx('px-5 py-2.5 align-top tabular', words ? 'text-left' : 'text-right')}
                >
                  {cell ?? none}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
