/** Checklist, findings and closing conditions of the HVAC contractor. */

import { ago, ahead } from '../../relative-times.ts';
import type { Check, Condition, Finding } from '../../deal-types.ts';

export const checklist: readonly Check[] = [
  {
    category: 'Revenue',
    title: 'Reconcile revenue to bank deposits (proof of cash)',
    status: 'completed',
    completed: ago(15, '20:10'),
  },
  {
    category: 'Revenue',
    title: 'Agreement revenue against call-out revenue by month',
    status: 'completed',
    completed: ago(19, '15:45'),
  },
  { category: 'Revenue', title: 'Percentage of completion on replacement jobs', status: 'in_progress' },
  { category: 'Customers', title: 'Concentration, two years', status: 'completed', completed: ago(17, '18:30') },
  { category: 'Customers', title: 'Retention and pricing of maintenance agreements', status: 'in_progress' },
  {
    category: 'Cost of sales',
    title: 'Field labor: wages, burden and overtime',
    status: 'completed',
    completed: ago(12, '21:05'),
  },
  { category: 'Cost of sales', title: 'Vendor rebates and when they are booked', status: 'in_progress' },
  { category: 'Add-backs', title: 'Owner and family compensation', status: 'completed', completed: ago(18, '16:20') },
  { category: 'Add-backs', title: 'Rent against market', status: 'completed', completed: ago(25, '19:00') },
  { category: 'Add-backs', title: 'One-time legal and software costs, to invoices', status: 'in_progress' },
  { category: 'Working capital', title: 'Monthly working capital, 24 months', status: 'in_progress' },
  { category: 'Working capital', title: 'Customer deposits and deferred agreement revenue', status: 'not_started' },
  { category: 'Working capital', title: 'Truck stock count', status: 'not_started' },
  {
    category: 'Debt and commitments',
    title: 'Vehicle loans and equipment leases',
    status: 'completed',
    completed: ago(21, '14:35'),
  },
  { category: 'Debt and commitments', title: 'Bonding line and open surety', status: 'not_started' },
  { category: 'Tax', title: 'Sales and use tax on lump-sum contracts', status: 'in_progress' },
  { category: 'Tax', title: 'Payroll tax deposits to filings', status: 'completed', completed: ago(10, '17:15') },
  { category: 'Tax', title: 'Foreign subsidiaries and transfer pricing', status: 'not_applicable' },
  { category: 'People', title: 'Paid leave accrued and bonuses promised', status: 'not_started' },
  { category: 'People', title: 'Multi-employer pension exposure', status: 'not_applicable' },
];

export const findings: readonly Finding[] = [
  {
    side: 'elena',
    by: 'tobias',
    at: ago(30, '19:40'),
    category: 'Tax',
    title: 'Use tax accrued in some months only',
    description:
      'Material bought out of state was accrued for use tax in 17 of 36 months. On the invoices sampled the exposure is $21,000 to $34,000 with interest for the open years.',
    severity: 'major',
    owner: 'tobias',
    moves: [
      {
        to: 'mitigated',
        by: 'elena',
        at: ago(7, '15:50'),
        notes: 'Seller agreed to a $35,000 escrow for 24 months and to a voluntary disclosure before close.',
      },
    ],
    comments: [
      {
        by: 'tobias',
        at: ago(26, '20:15'),
        body: 'Sample of 60 invoices is in the production folder. The pattern follows who was in the office that month.',
      },
      {
        by: 'elena',
        at: ago(24, '13:30'),
        body: 'Raised with Marcus on the phone. He will take it to Ron together with the question on lump-sum contracts.',
      },
    ],
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(28, '14:05'),
    category: 'Licensing',
    title: 'Contractor license is held by the seller personally',
    description:
      "The company works under the owner's license. Without another qualifying individual it could not pull permits the day after closing.",
    severity: 'critical',
    owner: 'elena',
    comments: [
      {
        by: 'elena',
        at: ago(20, '17:25'),
        body: 'The service manager has passed the examination. We need his application filed 30 days before close, and a retention agreement with him.',
      },
    ],
  },
  {
    side: 'elena',
    by: 'tobias',
    at: ago(22, '16:10'),
    category: 'Revenue',
    title: 'Hail insurance proceeds recorded as revenue',
    description: '$22,480 received for damaged rooftop stock is in service revenue. Removed as a negative add-back.',
    severity: 'minor',
    owner: 'tobias',
    moves: [{ to: 'resolved', by: 'tobias', at: ago(16, '19:40'), notes: 'Adjusted in the last twelve months.' }],
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(19, '18:55'),
    category: 'Operations',
    title: 'Four vans past 150,000 miles',
    description:
      'Replacement was put off during the sale. Three to four vans are due in the first year, about $160,000.',
    severity: 'minor',
    owner: 'elena',
    moves: [
      {
        to: 'mitigated',
        by: 'elena',
        at: ago(15, '14:45'),
        notes: 'Credit of $38,000 a van is in the letter of intent.',
      },
      { to: 'accepted', by: 'elena', at: ago(9, '15:20'), notes: 'We take the credit and buy the vans ourselves.' },
    ],
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(14, '20:30'),
    category: 'Customers',
    title: 'New data-hall customer may be a one-time job',
    description:
      'Larkhill Data Halls is new in the last twelve months, at a higher margin than anything else. If it was commissioning work, adjusted EBITDA falls by about $55,000.',
    severity: 'major',
    owner: 'elena',
    comments: [
      {
        by: 'tobias',
        at: ago(13, '14:50'),
        body: 'Invoices run over five months and stop. Looks like commissioning; the question is with the seller.',
      },
    ],
  },
  {
    side: 'elena',
    by: 'elena',
    at: ago(6, '16:35'),
    category: 'Real estate',
    title: 'Roof of the shop replaced four years ago, warranty transferable',
    description: 'Warranty of 20 years passes to the tenant under the new lease. Nothing to do.',
    severity: 'informational',
  },
  {
    side: 'ron',
    by: 'ron',
    at: ago(23, '21:20'),
    category: 'Legal',
    title: 'Two customer agreements need consent to be assigned',
    description:
      "School district and county: written consent of each. Requests go out once the buyer's financing is committed.",
    severity: 'major',
    owner: 'meredith',
    comments: [
      {
        by: 'marcus',
        at: ago(22, '13:50'),
        body: 'Meredith has the wording that the county used last time. I will send it with the request.',
      },
      {
        by: 'ron',
        at: ago(21, '22:10'),
        body: 'I will call Wes at the district myself before the letter lands on his desk.',
      },
    ],
  },
];

export const conditions: readonly Condition[] = [
  {
    name: 'Letter of intent countersigned',
    status: 'satisfied',
    owner: 'ron',
    deadline: ago(44),
    added: ago(47, '15:00'),
    completed: ago(46, '18:22'),
  },
  {
    name: 'Earnest money of $100,000 in escrow',
    status: 'satisfied',
    owner: 'elena',
    deadline: ago(40),
    added: ago(46, '18:40'),
    completed: ago(45, '20:20'),
  },
  {
    name: 'Appraisal of the shop building',
    status: 'waived',
    owner: 'marcus',
    deadline: ago(12),
    added: ago(41, '14:10'),
    completed: ago(28, '16:05'),
  },
  {
    name: 'Quality of earnings report without open majors',
    status: 'in_progress',
    owner: 'tobias',
    deadline: ahead(9),
    added: ago(41, '14:14'),
  },
  {
    name: 'Credit approval of Copperline Community Bank',
    status: 'in_progress',
    owner: 'elena',
    deadline: ahead(14),
    added: ago(41, '14:18'),
  },
  {
    name: 'Consent of Marlow Heights School District to assignment',
    status: 'open',
    owner: 'meredith',
    deadline: ahead(28),
    added: ago(34, '15:55'),
  },
  {
    name: 'Qualifying individual filed with the licensing board',
    status: 'in_progress',
    owner: 'ron',
    deadline: ago(3),
    added: ago(33, '17:00'),
  },
  {
    name: 'Five-year lease of the shop signed',
    status: 'open',
    owner: 'meredith',
    deadline: ahead(35),
    added: ago(26, '16:30'),
  },
  {
    name: 'Retention agreement with the service manager',
    status: 'open',
    owner: 'elena',
    deadline: ahead(30),
    added: ago(20, '18:10'),
  },
  {
    name: 'Use-tax escrow agreed',
    status: 'satisfied',
    owner: 'marcus',
    deadline: ahead(2),
    added: ago(19, '14:25'),
    completed: ago(7, '15:40'),
  },
  { name: 'Payoff letters for vehicle loans', status: 'open', deadline: ahead(40), added: ago(18, '19:45') },
  { name: 'Purchase agreement signed', status: 'open', owner: 'marcus', deadline: ahead(43), added: ago(17, '15:15') },
];
