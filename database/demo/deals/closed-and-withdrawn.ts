/** Deals that are over: two sold, one taken off the market. */

import { pdf } from '../bodies.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const roaster: DemoDeal = {
  key: 'roaster',
  brokerage: 'bramwellOakes',
  title: 'Specialty coffee roaster with two cafes',
  industry: 'Coffee roasting',
  location: 'Columbus, OH',
  summary:
    'Roastery, two cafes and 90 wholesale accounts. Sold to an owner-operator who had managed cafes for twelve years.',
  askingPrice: '690000.00',
  state: 'closed',
  by: 'marcus',
  opened: ago(431, '15:30'),
  changed: ago(122, '19:00'),
  closed: ago(122, '19:00'),
  parts: [
    { person: 'marcus', role: 'broker', since: ago(431, '15:30') },
    { person: 'beatriz', role: 'seller', since: ago(430, '14:20') },
    { person: 'benedict', role: 'buyer', since: ago(330, '16:40') },
  ],
  ndas: [
    {
      buyer: 'benedict',
      sentBy: 'marcus',
      sent: ago(329, '14:00'),
      status: 'active',
      signed: ago(328, '18:35'),
      expires: ahead(402),
    },
  ],
  offers: [
    {
      buyer: 'benedict',
      revisions: [
        {
          at: ago(240, '17:10'),
          open: ago(226),
          close: ago(130),
          terms: {
            purchase_price: '640000.00',
            cash_at_close: '540000.00',
            seller_note: '100000.00',
            financing_contingency: true,
            terms: 'Assets and both leases. Thirty days of training.',
          },
        },
        {
          at: ago(221, '14:30'),
          open: ago(207),
          close: ago(125),
          terms: {
            purchase_price: '665000.00',
            cash_at_close: '565000.00',
            seller_note: '100000.00',
            financing_contingency: true,
            terms: 'As before, with green coffee at cost on top.',
          },
        },
      ],
    },
  ],
  conditions: [
    {
      name: 'Consent of both landlords',
      status: 'satisfied',
      owner: 'beatriz',
      deadline: ago(135),
      added: ago(180, '15:10'),
      completed: ago(138, '16:45'),
    },
    {
      name: 'Audited statements',
      status: 'waived',
      deadline: ago(140),
      added: ago(180, '15:12'),
      completed: ago(150, '14:20'),
    },
  ],
  documents: [
    {
      filename: 'Closing statement.pdf',
      category: 'transaction',
      confidentiality: 'selected_buyer_only',
      by: 'marcus',
      at: ago(122, '19:10'),
      body: pdf(
        'Closing statement',
        'Purchase price $665,000.00. Green coffee at cost $18,214.60. Deposits and prorations as itemized.',
      ),
    },
  ],
};

export const janitorial: DemoDeal = {
  key: 'janitorial',
  brokerage: 'bramwellOakes',
  title: 'Janitorial services contractor, medical offices',
  industry: 'Janitorial services',
  location: 'Columbus, OH',
  summary: 'Night cleaning of 48 medical offices. Sold to a regional competitor within five months of listing.',
  askingPrice: '840000.00',
  state: 'closed',
  by: 'dana',
  opened: ago(512, '14:45'),
  changed: ago(351, '17:20'),
  closed: ago(351, '17:20'),
  parts: [
    { person: 'dana', role: 'broker', since: ago(512, '14:45') },
    { person: 'olga', role: 'seller', since: ago(511, '16:10') },
    { person: 'claire', role: 'buyer', since: ago(450, '15:05') },
  ],
  ndas: [
    {
      buyer: 'claire',
      sentBy: 'dana',
      sent: ago(449, '15:00'),
      status: 'active',
      signed: ago(448, '19:42'),
      expires: ahead(282),
    },
  ],
};

export const plumbing: DemoDeal = {
  key: 'plumbing',
  brokerage: 'bramwellOakes',
  title: 'Residential plumbing and drain company',
  industry: 'Residential plumbing',
  location: 'Lima, OH',
  summary: 'Six vans, twenty-two years. The owner decided to sell to his foreman and took it off the market.',
  askingPrice: '760000.00',
  state: 'withdrawn',
  by: 'dana',
  opened: ago(203, '18:20'),
  changed: ago(73, '15:50'),
  parts: [
    { person: 'dana', role: 'broker', since: ago(203, '18:20') },
    { person: 'earl', role: 'seller', since: ago(201, '20:15') },
    { person: 'paul', role: 'buyer', since: ago(151, '16:30'), status: 'removed', until: ago(73, '16:05') },
  ],
  ndas: [
    {
      buyer: 'paul',
      sentBy: 'dana',
      sent: ago(150, '14:50'),
      status: 'revoked',
      signed: ago(149, '18:21'),
      expires: ahead(581),
      revoked: ago(73, '16:02'),
    },
  ],
};
