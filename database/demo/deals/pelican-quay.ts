/** The deals of the second brokerage, in which nobody of the first takes part. */

import { annualBooks } from '../books.ts';
import { pdf } from '../bodies.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const boatyard: DemoDeal = {
  key: 'boatyard',
  brokerage: 'pelicanQuay',
  title: 'Marine engine repair yard with 40 slips',
  industry: 'Marine repair',
  location: 'Mobile, AL',
  summary:
    'Outboard and diesel repair, haul-out to 45 tons, 40 wet slips at 96% occupancy. Eight mechanics. Waterfront held on a lease with 23 years to run.',
  askingPrice: '3100000.00',
  state: 'listed',
  by: 'reggie',
  opened: ago(97, '16:25'),
  changed: ago(80, '15:15'),
  parts: [
    { person: 'reggie', role: 'broker', since: ago(97, '16:25') },
    { person: 'vernon', role: 'seller', since: ago(96, '14:40') },
    { person: 'desmond', role: 'buyer', since: ago(50, '18:50') },
  ],
  ndas: [
    {
      buyer: 'desmond',
      sentBy: 'reggie',
      sent: ago(49, '15:20'),
      status: 'active',
      signed: ago(48, '17:04'),
      expires: ahead(682),
    },
  ],
  snapshots: [
    {
      type: 'profit_and_loss',
      status: 'completed',
      source: 'Three years.xlsx',
      by: 'reggie',
      requested: ago(83, '19:40'),
      completed: ago(83, '19:42'),
      books: annualBooks([
        [2_914_200, 1_486_240, 842_310, 120_000, 138_400, 52_610, 12_040],
        [3_060_870, 1_545_740, 868_955, 120_000, 141_250, 47_935, 12_655],
        [3_241_630, 1_620_815, 902_480, 130_000, 143_900, 42_980, 13_405],
      ]),
    },
  ],
  questions: [
    {
      category: 'real_estate',
      by: 'desmond',
      asked: ago(33, '16:55'),
      status: 'distributed',
      text: 'May the waterfront lease be assigned, and what does the port ask for in return?',
      answer: {
        by: 'vernon',
        at: ago(30, '20:20'),
        text: 'Assignable with consent, they want a year of financials and a $5,000 fee. They have never turned anybody down that I know of.',
      },
      response: {
        at: ago(29, '15:48'),
        text: "Yes, with the port's consent: a year of financial statements and a fee of $5,000. The owner knows of no refusal.",
      },
    },
  ],
  documents: [
    {
      filename: 'Teaser - Boatyard.pdf',
      category: 'marketing',
      confidentiality: 'public',
      by: 'reggie',
      at: ago(80, '15:20'),
      body: pdf(
        'Marine repair yard on Mobile Bay',
        'Forty slips, eight mechanics, lift to 45 tons, $3.2 million of sales. Offered at $3,100,000.',
      ),
    },
  ],
};

export const seafood: DemoDeal = {
  key: 'seafood',
  brokerage: 'pelicanQuay',
  title: 'Shrimp and oyster wholesaler with own dock',
  industry: 'Seafood wholesale',
  location: 'Bayou La Batre, AL',
  summary:
    'Buys from 26 boats, sells to 110 restaurants and grocers. Processing room and blast freezer replaced two years ago.',
  askingPrice: '1980000.00',
  state: 'under_offer',
  by: 'reggie',
  opened: ago(174, '15:40'),
  changed: ago(22, '14:35'),
  parts: [
    { person: 'reggie', role: 'broker', since: ago(174, '15:40') },
    { person: 'thuy', role: 'seller', since: ago(173, '12:50') },
    { person: 'desmond', role: 'buyer', since: ago(88, '17:25') },
  ],
  ndas: [
    {
      buyer: 'desmond',
      sentBy: 'reggie',
      sent: ago(87, '16:10'),
      status: 'active',
      signed: ago(86, '14:59'),
      expires: ahead(644),
    },
  ],
  offers: [
    {
      buyer: 'desmond',
      revisions: [
        {
          at: ago(22, '14:20'),
          open: ahead(8),
          close: ahead(90),
          terms: {
            purchase_price: '1850000.00',
            cash_at_close: '1500000.00',
            seller_note: '350000.00',
            financing_contingency: true,
            terms: 'Stock in the freezer at cost on top. Seller introduces every boat in person.',
          },
        },
      ],
    },
  ],
};

export const rentals: DemoDeal = {
  key: 'rentals',
  brokerage: 'pelicanQuay',
  title: 'Vacation rental manager, 118 beach units',
  industry: 'Vacation rental management',
  location: 'Gulf Shores, AL',
  summary: 'Manages 118 condominiums and cottages for their owners. Own cleaning crew and laundry.',
  askingPrice: '1150000.00',
  state: 'draft',
  by: 'camille',
  opened: ago(8, '19:05'),
  changed: ago(8, '19:05'),
  parts: [
    { person: 'camille', role: 'broker', since: ago(8, '19:05') },
    { person: 'marguerite', role: 'seller', since: ago(7, '15:55') },
  ],
};
