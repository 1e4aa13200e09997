/** A dental laboratory whose broker has left the brokerage: it has buyers under NDA and a seller, but no broker. */

import { csv, pdf } from '../bodies.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const dentalLab: DemoDeal = {
  key: 'dental-lab',
  brokerage: 'bramwellOakes',
  title: 'Full-service dental laboratory',
  industry: 'Dental laboratory',
  location: 'Akron, OH',
  summary: `Crowns, bridges, implant work and removables for 86 dentists within ninety minutes. Six technicians, two mills and a printer paid off, own courier route.

The owner, a certified technician, will stay part time for two years.`,
  askingPrice: '1275000.00',
  state: 'listed',
  by: 'stewart',
  opened: ago(148, '15:05'),
  changed: ago(120, '14:20'),
  parts: [
    { person: 'stewart', role: 'broker', since: ago(148, '15:05'), status: 'removed', until: ago(34, '20:40') },
    { person: 'ines', role: 'seller', since: ago(146, '17:15') },
    { person: 'yusuf', role: 'buyer', since: ago(101, '18:30') },
    { person: 'elena', role: 'buyer', since: ago(77, '14:45') },
  ],
  ndas: [
    {
      buyer: 'yusuf',
      sentBy: 'stewart',
      sent: ago(101, '18:50'),
      status: 'active',
      signed: ago(99, '13:22'),
      expires: ahead(631),
    },
    {
      buyer: 'elena',
      sentBy: 'stewart',
      sent: ago(76, '15:10'),
      status: 'active',
      signed: ago(75, '20:36'),
      expires: ahead(655),
    },
  ],
  questions: [
    {
      category: 'technology',
      by: 'yusuf',
      asked: ago(88, '16:18'),
      status: 'distributed',
      text: 'What share of cases arrives as digital scans, and are the mills open to any file or tied to one vendor?',
      answer: {
        by: 'ines',
        at: ago(85, '18:02'),
        text: 'About 70% scans and climbing. Both mills take open STL. The printer wants its own resin but a cheaper one works, do not tell the rep.',
      },
      response: {
        at: ago(84, '14:28'),
        text: 'About 70% of cases arrive as scans. Both mills accept open STL files; the printer is sold with its own resin, and alternatives are in use.',
      },
    },
    {
      category: 'customers',
      by: 'elena',
      asked: ago(61, '15:42'),
      status: 'distributed',
      text: 'How many of the 86 dentists sent at least one case in each of the last twelve months?',
      answer: {
        by: 'ines',
        at: ago(58, '19:20'),
        text: '61 every single month. The rest skip a month here and there, vacations mostly, and nine are occasional.',
      },
      response: {
        at: ago(57, '15:12'),
        text: '61 sent cases in every month. Sixteen skipped one or two months, and nine are occasional.',
      },
    },
    {
      category: 'employees',
      by: 'elena',
      asked: ago(35, '21:15'),
      status: 'pending_broker_review',
      text: 'Do the two senior ceramists have agreements that keep them from starting their own lab nearby?',
    },
  ],
  documents: [
    {
      filename: 'Teaser - Dental laboratory.pdf',
      category: 'marketing',
      confidentiality: 'public',
      by: 'stewart',
      at: ago(120, '14:30'),
      body: pdf(
        'Full-service dental laboratory, northeast Ohio',
        'Eighty-six dentists, six technicians, $1.6 million of sales, own courier route. Offered at $1,275,000.',
      ),
      openings: [{ person: 'elena', at: ago(77, '15:20') }],
    },
    {
      filename: 'Cases by type and month.csv',
      category: 'operations',
      confidentiality: 'nda_gated',
      by: 'ines',
      at: ago(117, '20:10'),
      body: csv(
        'Type|Typical month|Turnaround (days)',
        'Zirconia crown|412|5',
        'Implant abutment|96|8',
        'Full denture|38|12',
      ),
      openings: [{ person: 'elena', at: ago(74, '14:08') }],
    },
  ],
};
