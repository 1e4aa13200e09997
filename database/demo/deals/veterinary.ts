/** A group of veterinary clinics with two offers on the table. */

import { pdf } from '../bodies.ts';
import { annualBooks } from '../books.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const veterinary: DemoDeal = {
  key: 'veterinary',
  brokerage: 'bramwellOakes',
  title: 'Two-location veterinary clinic group',
  industry: 'Veterinary clinics',
  location: 'Mansfield, OH',
  summary:
    'Small-animal practice in two towns: four doctors, nineteen staff, 7,800 active clients, digital X-ray and a dental suite at both. The founding doctor wants two years of medicine without management.',
  askingPrice: '2900000.00',
  state: 'under_offer',
  by: 'dana',
  opened: ago(133, '15:45'),
  changed: ago(13, '16:10'),
  keysAdmitted: ago(56, '14:40'),
  parts: [
    { person: 'dana', role: 'broker', since: ago(133, '15:45') },
    { person: 'fiona', role: 'seller', since: ago(131, '19:30') },
    { person: 'claire', role: 'buyer', since: ago(70, '14:25') },
    { person: 'gregory', role: 'buyer', since: ago(52, '17:05') },
  ],
  ndas: [
    {
      buyer: 'claire',
      sentBy: 'dana',
      sent: ago(69, '14:40'),
      status: 'active',
      signed: ago(68, '21:17'),
      expires: ahead(662),
    },
    {
      buyer: 'gregory',
      sentBy: 'dana',
      sent: ago(52, '17:30'),
      status: 'active',
      signed: ago(51, '14:46'),
      expires: ahead(679),
    },
  ],
  snapshots: [
    {
      type: 'profit_and_loss',
      status: 'completed',
      source: 'Practice financials.xlsx',
      by: 'dana',
      requested: ago(96, '18:30'),
      completed: ago(96, '18:33'),
      books: annualBooks([
        [3_240_500, 856_730, 1_712_450, 210_000, 118_300, 28_750, 8_425],
        [3_466_180, 905_420, 1_806_890, 210_000, 124_560, 25_310, 9_010],
        [3_702_940, 951_655, 1_921_330, 218_000, 129_880, 21_645, 9_625],
      ]),
    },
  ],
  questions: [
    {
      category: 'employees',
      by: 'claire',
      asked: ago(44, '15:31'),
      status: 'distributed',
      text: 'Are the two associate doctors paid a salary or a share of production, and have they been told?',
      answer: {
        by: 'fiona',
        at: ago(42, '22:40'),
        text: 'Production, 21%, with a floor. Dr. Lind knows, Dr. Osei does not and I would like to tell her myself.',
      },
      response: {
        at: ago(41, '15:05'),
        text: 'Both are paid 21% of production with a guaranteed minimum. One knows of the sale; the owner will speak with the other before any visit.',
      },
    },
    {
      category: 'real_estate',
      by: 'gregory',
      asked: ago(26, '18:14'),
      status: 'rejected',
      moved: ago(25, '14:22'),
      rejection:
        'The appraisal of the second building is not finished. Ask again when it is, or make the offer subject to it.',
      text: 'What is the appraised value of both buildings?',
    },
  ],
  offers: [
    {
      buyer: 'claire',
      revisions: [
        {
          at: ago(24, '19:50'),
          open: ago(10),
          close: ahead(80),
          terms: {
            purchase_price: '2650000.00',
            cash_at_close: '2250000.00',
            seller_note: '400000.00',
            financing_contingency: true,
            terms: 'Assets of both clinics. Two-year employment of the founding doctor at 22% of production.',
          },
        },
        {
          at: ago(13, '15:40'),
          open: ahead(8),
          close: ahead(80),
          terms: {
            purchase_price: '2780000.00',
            cash_at_close: '2380000.00',
            seller_note: '400000.00',
            financing_contingency: true,
            terms: 'As before; option on the second building at appraised value.',
          },
        },
      ],
    },
    {
      buyer: 'gregory',
      revisions: [
        {
          at: ago(20, '14:05'),
          open: ahead(5),
          close: ahead(60),
          terms: {
            purchase_price: '2600000.00',
            cash_at_close: '2600000.00',
            financing_contingency: false,
            terms: 'All cash at closing. Founding doctor stays one year.',
          },
        },
      ],
    },
  ],
  documents: [
    {
      filename: 'Practice overview.pdf',
      category: 'marketing',
      confidentiality: 'nda_gated',
      by: 'dana',
      at: ago(92, '16:45'),
      body: pdf(
        'Practice overview',
        'Two clinics eleven miles apart, open six days. 7,800 clients seen in the last eighteen months; 24% of revenue from dentistry and surgery.',
      ),
      openings: [
        { person: 'claire', at: ago(68, '21:30') },
        { person: 'gregory', at: ago(51, '15:00') },
      ],
    },
  ],
};
