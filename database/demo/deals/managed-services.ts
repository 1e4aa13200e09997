/** An IT firm on which the demo's other buyer holds the exclusivity. */

import { csv, pdf } from '../bodies.ts';
import { annualBooks } from '../books.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const managedServices: DemoDeal = {
  key: 'managed-services',
  brokerage: 'bramwellOakes',
  title: 'IT managed-services firm for professional offices',
  industry: 'IT managed services',
  location: 'Toledo, OH',
  summary: `Monthly agreements with 74 law, accounting and dental offices, 1,960 seats; 88% of gross profit is recurring. Nine engineers, help desk answered by people, no project over $60,000.

Churn under 4% a year. Owner would keep a tenth.`,
  askingPrice: '2400000.00',
  state: 'exclusivity',
  by: 'dana',
  opened: ago(163, '16:30'),
  changed: ago(17, '15:20'),
  parts: [
    { person: 'dana', role: 'broker', since: ago(163, '16:30') },
    { person: 'kelvin', role: 'seller', since: ago(161, '18:00') },
    { person: 'arjun', role: 'buyer', since: ago(109, '14:35') },
    { person: 'gregory', role: 'buyer', since: ago(91, '15:15') },
  ],
  ndas: [
    {
      buyer: 'arjun',
      sentBy: 'dana',
      sent: ago(108, '15:00'),
      status: 'active',
      signed: ago(107, '17:33'),
      expires: ahead(623),
    },
    {
      buyer: 'gregory',
      sentBy: 'dana',
      sent: ago(91, '15:40'),
      status: 'active',
      signed: ago(90, '13:29'),
      expires: ahead(640),
    },
  ],
  exclusivity: { buyer: 'gregory', grantedBy: 'dana', granted: ago(17, '15:20'), expires: ahead(28) },
  workspace: [{ person: 'gregory', role: 'reader', addedBy: 'dana', added: ago(16, '14:10') }],
  checklist: [
    { category: 'Revenue', title: 'Recurring agreements to invoices', status: 'in_progress' },
    {
      category: 'Customers',
      title: 'Churn and price changes, three years',
      status: 'completed',
      completed: ago(6, '18:40'),
    },
    { category: 'Cost of sales', title: 'Resold licenses and their commitments', status: 'not_started' },
  ],
  snapshots: [
    {
      type: 'full',
      status: 'completed',
      source: 'Books and customers.xlsx',
      by: 'dana',
      requested: ago(12, '19:25'),
      completed: ago(12, '19:28'),
      books: annualBooks(
        [
          [2_846_300, 1_412_880, 689_450, 150_000, 46_200, 8_140, 7_400],
          [3_071_750, 1_506_240, 726_315, 150_000, 49_850, 6_275, 7_985],
          [3_318_420, 1_602_910, 768_940, 160_000, 52_315, 4_310, 8_630],
        ],
        [
          ['Barrow Lintel Architects', 940],
          ['Hask & Umber Law', 810],
          ['Sevenoaks Orthodontics', 720],
          ['Tidewell Accounting', 655],
          ['Copse Hill Pediatrics', 540],
          ['Lyle Vantage Insurance', 470],
          ['Old Canal Title', 415],
          ['Brackenridge Surveyors', 360],
          ['Penfold Escrow', 310],
          ['Maple & Main Wealth', 285],
          ['Sixty-four other offices', 4495],
        ],
      ),
    },
  ],
  addBacks: [
    {
      period: { yearsBack: 0 },
      category: 'owner_comp',
      amount: '40000.00',
      rationale: 'Owner paid $160,000; a general manager for a firm of this size costs $120,000.',
      by: 'kelvin',
      at: ago(9, '20:50'),
    },
  ],
  questions: [
    {
      category: 'technology',
      by: 'gregory',
      asked: ago(8, '15:48'),
      status: 'with_seller',
      moved: ago(7, '14:12'),
      text: 'Do the monitoring and backup licenses belong to the firm or to each customer, and what would they cost if a third of the seats left?',
    },
    {
      category: 'financials',
      by: 'gregory',
      asked: ago(4, '18:26'),
      status: 'pending_broker_review',
      text: "How much of last year's project revenue came from customers who already had an agreement?",
    },
  ],
  offers: [
    {
      buyer: 'gregory',
      revisions: [
        {
          at: ago(27, '16:15'),
          open: ago(13),
          close: ahead(50),
          terms: {
            purchase_price: '2250000.00',
            cash_at_close: '1800000.00',
            rollover_equity: '225000.00',
            earnout: '225000.00',
            financing_contingency: false,
            terms: 'Owner keeps a tenth. Earnout if recurring revenue is at least $2,900,000 a year after closing.',
          },
        },
        {
          at: ago(18, '14:40'),
          open: ahead(3),
          close: ahead(50),
          terms: {
            purchase_price: '2350000.00',
            cash_at_close: '1950000.00',
            rollover_equity: '235000.00',
            earnout: '165000.00',
            financing_contingency: false,
            terms: 'As before, with forty-five days of exclusivity.',
          },
        },
      ],
    },
    {
      buyer: 'arjun',
      revisions: [
        {
          at: ago(29, '21:05'),
          open: ago(15),
          close: ahead(70),
          terms: {
            purchase_price: '2300000.00',
            cash_at_close: '1840000.00',
            seller_note: '460000.00',
            financing_contingency: true,
            terms: 'Subject to approval of a bank loan over ten years.',
          },
        },
      ],
    },
  ],
  documents: [
    {
      filename: 'Agreements by seat count.csv',
      category: 'customers',
      confidentiality: 'selected_buyer_only',
      by: 'kelvin',
      at: ago(15, '19:35'),
      body: csv('Seats|Offices|Average price a seat', '1 to 10|21|128.00', '11 to 40|38|117.50', 'over 40|15|104.25'),
      openings: [{ person: 'gregory', at: ago(15, '20:11') }],
    },
    {
      filename: 'Security policies, index.pdf',
      category: 'technology',
      confidentiality: 'nda_gated',
      request: '3. Written security policies',
      by: 'kelvin',
      at: ago(7, '21:20'),
      body: pdf(
        'Security policies - index',
        'Access, backup, incident response, acceptable use, vendor management. Reviewed each January.',
      ),
    },
  ],
  conditions: [
    {
      name: 'Consent of the landlord',
      status: 'open',
      owner: 'kelvin',
      deadline: ahead(24),
      added: ago(14, '15:30'),
    },
    {
      name: 'Agreements with the two senior engineers',
      status: 'in_progress',
      owner: 'gregory',
      deadline: ahead(21),
      added: ago(14, '15:34'),
    },
  ],
};
