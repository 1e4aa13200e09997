/** Offers, add-backs and financing of the HVAC contractor. */

import { ago, ahead } from '../../relative-times.ts';
import type { AddBack, Financing, Offers } from '../../deal-types.ts';

export const offers: readonly Offers[] = [
  {
    buyer: 'elena',
    revisions: [
      {
        at: ago(96, '17:20'),
        open: ago(82),
        close: ahead(30),
        terms: {
          purchase_price: '4400000.00',
          cash_at_close: '3740000.00',
          seller_note: '660000.00',
          financing_contingency: true,
          terms:
            'Asset purchase. Normalized working capital delivered at close. Seller note over 60 months at 6.5%, on standby as the lender requires. Seller stays twelve months as a consultant.',
        },
      },
      {
        at: ago(71, '20:48'),
        open: ago(57),
        close: ahead(45),
        terms: {
          purchase_price: '4600000.00',
          cash_at_close: '3850000.00',
          seller_note: '600000.00',
          earnout: '150000.00',
          financing_contingency: true,
          terms:
            'As before. Earnout payable if the school district agreement is renewed within 18 months. Lease of the shop for five years with two renewals at market rent.',
        },
      },
      {
        at: ago(52, '15:05'),
        open: ago(38),
        close: ahead(58),
        terms: {
          purchase_price: '4725000.00',
          cash_at_close: '4025000.00',
          seller_note: '700000.00',
          financing_contingency: true,
          terms:
            'As before, without an earnout. Ninety days of exclusivity from acceptance. Four vans past 150,000 miles are replaced before close or credited at $38,000 each.',
        },
      },
    ],
  },
  {
    buyer: 'gregory',
    revisions: [
      {
        at: ago(90, '19:12'),
        open: ago(69),
        close: ahead(75),
        terms: {
          purchase_price: '4250000.00',
          cash_at_close: '3400000.00',
          rollover_equity: '850000.00',
          financing_contingency: false,
          terms:
            'Stock purchase by a trades platform. Seller keeps 20% of the combined company. No lender approval needed; subject to confirmatory diligence of 45 days.',
        },
      },
    ],
  },
];

export const addBacks: readonly AddBack[] = [
  {
    period: { yearsBack: 1 },
    category: 'owner_comp',
    amount: '105000.00',
    rationale: "Owner's W-2 of $240,000 against $135,000 for a hired general manager (three local postings on file).",
    by: 'marcus',
    at: ago(39, '15:10'),
  },
  {
    period: { yearsBack: 0 },
    category: 'owner_comp',
    amount: '105000.00',
    rationale: "Owner's W-2 of $240,000 against $135,000 for a hired general manager.",
    by: 'marcus',
    at: ago(39, '15:14'),
  },
  {
    period: { yearsBack: 0 },
    category: 'owner_comp',
    amount: '38400.00',
    rationale: "Wages of the owner's spouse; the bookkeeping is done by the office manager, whose wage stays in.",
    by: 'marcus',
    at: ago(39, '15:19'),
  },
  {
    period: { yearsBack: 0 },
    category: 'related_party',
    amount: '-31500.00',
    rationale:
      'Rent to the family entity at $7.00 a square foot; 18,000 square feet at the appraised $8.75 would cost more.',
    by: 'elena',
    at: ago(25, '18:52'),
  },
  {
    period: { yearsBack: 0 },
    category: 'one_time',
    amount: '61280.45',
    rationale: 'Legal fees of the dispute with the former estimator, settled and dismissed. Invoices in the data room.',
    by: 'marcus',
    at: ago(39, '15:26'),
  },
  {
    period: { yearsBack: 0 },
    category: 'other',
    amount: '18640.00',
    rationale: "Owner's truck, boat insurance and family phone plan paid by the company.",
    by: 'ron',
    at: ago(37, '21:33'),
  },
  {
    period: 'last_twelve_months',
    category: 'owner_comp',
    amount: '143400.00',
    rationale: 'Owner above market, and wages of the spouse, on the same basis as the full years.',
    by: 'elena',
    at: ago(18, '16:04'),
  },
  {
    period: 'last_twelve_months',
    category: 'one_time',
    amount: '27915.60',
    rationale: 'Moving to the new dispatch software: data conversion and six weeks of two subscriptions at once.',
    by: 'elena',
    at: ago(18, '16:11'),
  },
  {
    period: 'last_twelve_months',
    category: 'one_time',
    amount: '-22480.00',
    rationale: 'Insurance paid for hail damage to rooftop stock; booked as revenue, will not come again.',
    by: 'elena',
    at: ago(16, '19:37'),
  },
];

export const financing: readonly Financing[] = [
  {
    side: 'elena',
    by: 'elena',
    at: ago(44, '15:30'),
    changed: ago(14, '18:10'),
    type: 'sba_7a',
    name: 'Copperline Community Bank, 10 years',
    amount: 3_300_000,
    status: 'term_sheet',
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(51, '16:12'),
    changed: ago(46, '14:55'),
    type: 'seller_note',
    name: 'Seller note, full standby for 24 months',
    amount: 700_000,
    status: 'committed',
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(51, '16:15'),
    changed: ago(45, '20:20'),
    type: 'cash_buyer_equity',
    name: 'Earnest money in escrow',
    amount: 100_000,
    status: 'funded',
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(43, '17:45'),
    changed: ago(28, '15:00'),
    type: 'cash_buyer_equity',
    name: 'Elena Marchetti, own funds',
    amount: 375_000,
    status: 'committed',
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(42, '14:20'),
    type: 'equity_investor_check',
    name: 'Two search investors, minority',
    amount: 250_000,
    status: 'identified',
  },
  {
    side: 'elena',
    by: 'tobias',
    at: ago(27, '19:05'),
    changed: ago(19, '16:30'),
    type: 'other',
    name: 'Copperline working-capital line, undrawn at close',
    amount: 300_000,
    status: 'applied',
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(50, '18:40'),
    changed: ago(29, '21:15'),
    type: 'sba_7a',
    name: 'Bank of the Three Ferries, 10 years',
    amount: 3_150_000,
    status: 'withdrawn',
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(94, '16:50'),
    changed: ago(60, '13:40'),
    type: 'mezzanine',
    name: 'Greywether Capital, indication',
    amount: 500_000,
    status: 'expired',
  },
];
