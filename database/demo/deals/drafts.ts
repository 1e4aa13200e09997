/** Deals that are still being prepared. */

import { annualBooks } from '../books.ts';
import { pdf } from '../bodies.ts';
import { ago } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

/** A draft of the demo broker; no buyer has been told. */
export const machineShop: DemoDeal = {
  key: 'machine-shop',
  brokerage: 'bramwellOakes',
  title: 'Precision CNC machine shop, Miami Valley',
  industry: 'Precision machining',
  location: 'Dayton, OH',
  summary: `Five-axis and Swiss-type machining for medical instruments and hydraulics, in lots of 20 to 2,000. Eleven machinists, ISO 9001, AS9100 audit booked for the spring.

Owner wants to sell to somebody who keeps the apprenticeship going. Building can be leased or bought.`,
  askingPrice: '3200000.00',
  state: 'draft',
  by: 'marcus',
  opened: ago(19, '15:25'),
  changed: ago(4, '19:10'),
  parts: [
    { person: 'marcus', role: 'broker', since: ago(19, '15:25') },
    { person: 'walter', role: 'seller', since: ago(18, '14:30') },
  ],
  snapshots: [
    {
      type: 'profit_and_loss',
      status: 'completed',
      source: 'Year-end statements.xlsx',
      by: 'marcus',
      requested: ago(11, '16:20'),
      completed: ago(11, '16:22'),
      books: annualBooks([
        [3_412_880, 2_081_860, 618_240, 168_000, 214_600, 41_320, 9_140],
        [3_698_450, 2_237_560, 642_915, 168_000, 226_150, 37_480, 9_870],
        [3_954_210, 2_352_750, 671_380, 180_000, 231_900, 33_015, 10_455],
      ]),
    },
  ],
  documents: [
    {
      filename: 'Notes for the memorandum.pdf',
      category: 'marketing',
      confidentiality: 'nda_gated',
      by: 'marcus',
      at: ago(9, '20:05'),
      body: pdf(
        'Notes from the walk-through',
        'Nineteen spindles, the newest three bought in the last four years. Inspection room is climate controlled. Two customers make up 46% of sales and both have been there more than ten years.',
        'Ask Walter for: machine list with hours, scrap rates, the quality manual, and who would run the second shift.',
      ),
    },
  ],
};

/** A draft of a colleague, which the demo broker does not see. */
export const physicalTherapy: DemoDeal = {
  key: 'physical-therapy',
  brokerage: 'bramwellOakes',
  title: 'Outpatient physical therapy practice, three clinics',
  industry: 'Outpatient physical therapy',
  location: 'Cincinnati, OH',
  summary:
    'Three clinics, nine therapists, about 410 visits a week. Two thirds commercial insurance and self-pay. The founder wants to treat patients, not run payroll.',
  askingPrice: '1850000.00',
  state: 'draft',
  by: 'dana',
  opened: ago(12, '17:40'),
  changed: ago(12, '17:40'),
  parts: [
    { person: 'dana', role: 'broker', since: ago(12, '17:40') },
    { person: 'hannah', role: 'seller', since: ago(10, '14:05'), status: 'invited' },
  ],
};
