/** The sheet that shows how much of each price is paid for each add-back. */

import { at, downFrom, fixed, formula, head, text, type ReportSheet, type SheetCell } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { categoryWords, smallerAddBacks } from '../words.ts';
import { basisCells } from './earnings.ts';
import { below, dated, firstRow, titled, widthFor, type Row } from './layout.ts';
import { apportioned, offerRow, offerWidth } from './offers.ts';

/** The sheet of add-backs and how much of each price is paid for them; null when no offer's price can be divided. */
export function addBacksSheet(contents: ReportContents): ReportSheet | null {
  const { items, basis } = contents.offers;
  const earned = basisCells(contents);
  const [reported, adjusted] = [earned('ebitda'), earned('adjusted_ebitda')];
  const held = items.flatMap((offer, place) => (offer.paid_for ? [{ offer, paid: offer.paid_for, place }] : []));
  if (!basis || !reported || !adjusted || held.length === 0 || basis.add_backs.length === 0) return null;
  const [first, last] = [firstRow, firstRow + basis.add_backs.length];
  const weights = downFrom(2, first, last);
  // Ties for the units that rounding leaves over go to reported EBITDA first, then to the add-backs in the order of
  // their ids.
  const byId = basis.add_backs.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1));
  const places = [0, ...basis.add_backs.map(({ id }) => 1 + byId.indexOf(id))];
  const amountOf = ({ id, amount }: (typeof basis.add_backs)[number]): SheetCell => {
    const row = contents.adjustments.findIndex((one) => one.id === id);
    return row < 0
      ? formula(`${adjusted}-SUM(${downFrom(2, first, last - 1)})`, amount)
      : formula(`Adjustments!${fixed(2, firstRow + row)}`, amount);
  };
  const cells = (row: number, amounts: (of: (typeof held)[number]) => readonly [worth?: string, without?: string]) =>
    held.flatMap((one, column): (SheetCell | null)[] => {
      const [worth, without] = amounts(one);
      const price = `Offers!${fixed(1 + one.place, offerRow('purchase_price'))}`;
      const units = `10^${Math.max(2, one.offer.price_digits)}`;
      const order = { all: `{${places.join(';')}}`, own: String(places[row - first] ?? 0) };
      return [
        worth === undefined ? null : formula(apportioned(price, units, weights, fixed(2, row), order), worth),
        without === undefined ? null : formula(`${price}-${at(3 + 2 * column, row)}`, without),
      ];
    });
  return {
    name: 'Add-backs',
    widths: [
      24,
      40,
      Math.max(16, widthFor([basis.adjusted_ebitda, ...basis.add_backs.map((one) => one.amount)])),
      ...held.flatMap(({ offer }) => [offerWidth(offer), offerWidth(offer)]),
    ],
    rows: [
      ...titled(
        'What is paid for each add-back',
        `At the multiple of adjusted EBITDA of ${dated(basis.period, basis)}, and the price at the same multiple without it.`,
        [
          head('Add-back', false),
          head('Why', false),
          head('Amount'),
          ...held.flatMap(({ offer }) => [head(`${offer.buyer} pays`), head('Price without it')]),
        ],
      ),
      [
        text('Reported EBITDA'),
        null,
        formula(reported, basis.reported_ebitda),
        ...cells(first, ({ paid }) => [paid.reported_ebitda]),
      ],
      ...basis.add_backs.map((one, place): Row => {
        const row = first + 1 + place;
        return [
          text(one.category ? categoryWords[one.category] : smallerAddBacks),
          text(one.rationale ?? '', { wrap: true }),
          amountOf(one),
          ...cells(row, ({ paid }) => {
            const found = paid.add_backs.find(({ id }) => id === one.id);
            return [found?.worth, found?.price_without];
          }),
        ];
      }),
      [
        text('Total', { bold: true }),
        null,
        formula(`SUM(${weights})`, basis.adjusted_ebitda, 'amount', { bold: true }),
        ...held.flatMap(({ offer }, column) => [
          formula(`SUM(${downFrom(3 + 2 * column, first, last)})`, offer.amounts.purchase_price, 'amount', {
            bold: true,
          }),
          null,
        ]),
      ],
    ],
    frozen: below,
    landscape: true,
  };
}
