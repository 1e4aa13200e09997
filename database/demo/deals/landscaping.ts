/** A landscaping company that is about to close. */

import { pdf } from '../bodies.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const landscaping: DemoDeal = {
  key: 'landscaping',
  brokerage: 'bramwellOakes',
  title: 'Commercial landscaping and snow company',
  industry: 'Landscaping and snow removal',
  location: 'Delaware, OH',
  summary:
    'Grounds and snow for 63 office parks, hospitals and retirement communities on seasonal contracts. Thirty-four people in season, 22 trucks, a salt barn. Contracts renew at 92%.',
  askingPrice: '2150000.00',
  state: 'closing',
  by: 'marcus',
  opened: ago(287, '14:10'),
  changed: ago(11, '20:30'),
  keysAdmitted: ago(57, '16:05'),
  parts: [
    { person: 'marcus', role: 'broker', since: ago(287, '14:10') },
    { person: 'duane', role: 'seller', since: ago(285, '13:20') },
    { person: 'priya', role: 'viewer', since: ago(280, '16:00') },
    { person: 'yusuf', role: 'buyer', since: ago(190, '18:45') },
  ],
  ndas: [
    {
      buyer: 'yusuf',
      sentBy: 'marcus',
      sent: ago(189, '14:30'),
      status: 'active',
      signed: ago(188, '16:12'),
      expires: ahead(542),
    },
  ],
  exclusivity: { buyer: 'yusuf', grantedBy: 'marcus', granted: ago(92, '17:40'), expires: ahead(18) },
  workspace: [{ person: 'yusuf', role: 'reader', addedBy: 'marcus', added: ago(90, '15:05') }],
  checklist: [
    {
      category: 'Revenue',
      title: 'Seasonal contracts to invoices',
      status: 'completed',
      completed: ago(54, '19:10'),
    },
    {
      category: 'Working capital',
      title: 'Salt stock and prepaid contracts',
      status: 'completed',
      completed: ago(41, '15:25'),
    },
    {
      category: 'Debt and commitments',
      title: 'Equipment loans, payoff amounts',
      status: 'completed',
      completed: ago(16, '18:05'),
    },
  ],
  offers: [
    {
      buyer: 'yusuf',
      revisions: [
        {
          at: ago(104, '15:55'),
          open: ago(90),
          close: ahead(12),
          terms: {
            purchase_price: '2075000.00',
            cash_at_close: '1775000.00',
            seller_note: '300000.00',
            financing_contingency: true,
            terms: 'Assets. Closing after the first salt delivery of the season, which the seller pays for.',
          },
        },
      ],
    },
  ],
  conditions: [
    {
      name: 'Loan documents signed',
      status: 'satisfied',
      owner: 'yusuf',
      deadline: ago(9),
      added: ago(60, '14:15'),
      completed: ago(10, '21:10'),
    },
    {
      name: 'Titles of 22 trucks',
      status: 'in_progress',
      owner: 'duane',
      deadline: ahead(7),
      added: ago(45, '16:50'),
    },
    {
      name: 'Non-compete of the seller',
      status: 'satisfied',
      owner: 'duane',
      deadline: ago(5),
      added: ago(45, '16:54'),
      completed: ago(12, '17:30'),
    },
  ],
  documents: [
    {
      filename: 'Closing checklist.pdf',
      category: 'transaction',
      confidentiality: 'selected_buyer_only',
      by: 'marcus',
      at: ago(11, '20:40'),
      body: pdf(
        'Closing checklist',
        'Bill of sale, assignment of 63 contracts, truck titles, lease of the yard, payoff letters, escrow instructions.',
      ),
      openings: [{ person: 'yusuf', at: ago(10, '13:45') }],
    },
  ],
};
