/** The deal with records of every kind: a commercial HVAC contractor in diligence with one buyer. */

import { ago, ahead, minutesAgo } from '../../relative-times.ts';
import type { DemoDeal } from '../../deal-types.ts';
import { books, customersAtListing } from './books.ts';
import { checklist, conditions, findings } from './diligence.ts';
import { dataRoom } from './data-room.ts';
import { addBacks, financing, offers } from './money.ts';
import { production } from './production.ts';
import { questions } from './questions.ts';

export const hvac: DemoDeal = {
  key: 'hvac',
  brokerage: 'bramwellOakes',
  title: 'Commercial HVAC contractor, central Ohio',
  industry: 'Commercial HVAC service and replacement',
  location: 'Columbus, OH',
  summary: `Twenty-seven years of commercial heating and cooling: maintenance agreements on 212 buildings, call-outs, and replacement of rooftop units, chillers and boilers. No new construction since year fifteen.

Nineteen in the field and seven in the office, in 18,000 square feet that the owner's family lets to the company. The service manager has been there sixteen years and can qualify the license.

The owner is 66, has no successor in the family, and will stay for a year. Seller financing for the right buyer.`,
  askingPrice: '4850000.00',
  state: 'diligence',
  by: 'marcus',
  opened: ago(236, '14:35'),
  changed: ago(40, '13:30'),
  keysAdmitted: ago(57, '15:20'),
  parts: [
    { person: 'marcus', role: 'broker', since: ago(236, '14:35') },
    { person: 'ron', role: 'seller', since: ago(234, '16:10') },
    { person: 'priya', role: 'viewer', since: ago(230, '13:45') },
    { person: 'meredith', role: 'advisor', advises: 'ron', since: ago(215, '18:20') },
    { person: 'gregory', role: 'buyer', since: ago(197, '15:55') },
    { person: 'elena', role: 'buyer', since: ago(189, '17:30') },
    { person: 'paul', role: 'buyer', since: ago(181, '14:15'), status: 'removed', until: ago(121, '19:20') },
    { person: 'tobias', role: 'advisor', advises: 'elena', since: ago(44, '15:10') },
    { person: 'nadia', role: 'advisor', advises: 'elena', since: ago(3, '18:45'), status: 'invited' },
  ],
  ndas: [
    {
      buyer: 'elena',
      sentBy: 'marcus',
      sent: ago(187, '14:10'),
      status: 'active',
      signed: ago(186, '19:48'),
      expires: ahead(544),
    },
    {
      buyer: 'paul',
      sentBy: 'marcus',
      sent: ago(180, '15:00'),
      status: 'revoked',
      signed: ago(178, '16:27'),
      expires: ahead(552),
      revoked: ago(121, '19:18'),
    },
  ],
  exclusivity: { buyer: 'elena', grantedBy: 'marcus', granted: ago(46, '18:35'), expires: ahead(44) },
  workspace: [
    { person: 'elena', role: 'editor', addedBy: 'marcus', added: ago(44, '15:15') },
    { person: 'tobias', role: 'reader', addedBy: 'marcus', added: ago(43, '14:50') },
  ],
  checklist,
  snapshots: [
    {
      type: 'customer_revenue',
      status: 'completed',
      source: 'Customers by year.csv',
      by: 'marcus',
      requested: ago(205, '15:30'),
      completed: ago(205, '15:32'),
      books: customersAtListing,
    },
    {
      type: 'full',
      status: 'failed',
      source: 'Profit and loss by month.xlsx',
      failure:
        'Row 212 ("Total Income") is 1,850.00 more than the accounts above it add up to. Correct the sheet, or leave the totals out, and send it again.',
      by: 'ron',
      requested: ago(24, '20:40'),
      completed: ago(24, '20:41'),
    },
    {
      type: 'full',
      status: 'completed',
      source: 'Profit and loss and customers, corrected.xlsx',
      by: 'ron',
      requested: ago(21, '19:05'),
      completed: ago(21, '19:09'),
      books,
    },
    {
      type: 'profit_and_loss',
      status: 'processing',
      source: 'General ledger export.csv',
      by: 'ron',
      requested: minutesAgo(95),
    },
    {
      type: 'customer_revenue',
      status: 'requested',
      source: 'Sales by customer, last quarter.csv',
      by: 'marcus',
      requested: minutesAgo(40),
    },
  ],
  addBacks,
  questions,
  documents: [...dataRoom, ...production],
  offers,
  conditions,
  findings,
  financing,
};
