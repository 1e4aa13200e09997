/**
 * A wholesale bakery, open to buyers: one is under NDA, one has not signed yet, and one let the NDA expire unsigned.
 */

import { csv, pdf } from '../bodies.ts';
import { annualBooks } from '../books.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const bakery: DemoDeal = {
  key: 'bakery',
  brokerage: 'bramwellOakes',
  title: 'Wholesale craft bakery with overnight routes',
  industry: 'Wholesale bakery',
  location: 'Cleveland, OH',
  summary: `Sourdough, rye and laminated pastry for 140 cafes, grocers and restaurants. Two deck ovens, a spiral line, five vans out by four in the morning.

Sales have grown 9% a year without a salesperson. The founder bakes three nights a week and would like to stop.`,
  askingPrice: '1650000.00',
  state: 'listed',
  by: 'marcus',
  opened: ago(84, '14:50'),
  changed: ago(66, '15:35'),
  parts: [
    { person: 'marcus', role: 'broker', since: ago(84, '14:50') },
    { person: 'tomasz', role: 'seller', since: ago(83, '12:40') },
    { person: 'claire', role: 'buyer', since: ago(64, '16:55') },
    { person: 'gregory', role: 'buyer', since: ago(49, '18:10') },
    { person: 'elena', role: 'buyer', since: ago(15, '14:40') },
  ],
  ndas: [
    { buyer: 'claire', sentBy: 'marcus', sent: ago(64, '17:10'), status: 'expired', expires: ago(34, '17:10') },
    {
      buyer: 'gregory',
      sentBy: 'marcus',
      sent: ago(48, '14:05'),
      status: 'active',
      signed: ago(47, '15:51'),
      expires: ahead(683),
    },
    { buyer: 'elena', sentBy: 'marcus', sent: ago(14, '15:25'), status: 'sent', expires: ahead(16) },
  ],
  snapshots: [
    {
      type: 'profit_and_loss',
      status: 'completed',
      source: 'Annual statements.csv',
      by: 'marcus',
      requested: ago(70, '19:15'),
      completed: ago(70, '19:16'),
      books: annualBooks([
        [2_118_640, 1_038_130, 598_270, 96_000, 74_250, 18_940, 5_510],
        [2_306_915, 1_125_770, 641_385, 96_000, 78_800, 16_225, 5_995],
        [2_517_480, 1_221_005, 694_110, 104_000, 81_640, 13_380, 6_545],
      ]),
    },
  ],
  addBacks: [
    {
      period: { yearsBack: 0 },
      category: 'one_time',
      amount: '34150.00',
      rationale: 'Repair of the spiral freezer after a power surge, beyond what insurance paid.',
      by: 'marcus',
      at: ago(67, '18:25'),
    },
  ],
  questions: [
    {
      category: 'operations',
      by: 'gregory',
      asked: ago(41, '13:35'),
      status: 'distributed',
      text: 'If the two deck ovens run at capacity from midnight to five, how much more could the bakery sell without buying another one?',
      answer: {
        by: 'tomasz',
        at: ago(39, '11:50'),
        text: 'Ovens are at 80% Thursday to Saturday and maybe 55% the rest. There is room for 15 to 20% if people would eat more bread on Mondays.',
      },
      response: {
        at: ago(38, '14:18'),
        text: 'The ovens run at about 80% from Thursday to Saturday and 55% on other nights. The owner sees room for 15 to 20% more, most of it early in the week.',
      },
    },
    {
      category: 'customers',
      by: 'gregory',
      asked: ago(18, '17:22'),
      status: 'with_seller',
      moved: ago(17, '14:08'),
      text: 'Which five accounts are the largest, and does any of them have a price fixed in writing for longer than a year?',
    },
  ],
  documents: [
    {
      filename: 'Teaser - Wholesale bakery.pdf',
      category: 'marketing',
      confidentiality: 'public',
      by: 'marcus',
      at: ago(66, '15:40'),
      body: pdf(
        'Wholesale craft bakery, Cleveland',
        '140 accounts, $2.5 million of sales, five delivery routes, equipment paid for. Offered at $1,650,000.',
      ),
      openings: [
        { person: 'gregory', at: ago(49, '18:35') },
        { person: 'elena', at: ago(15, '15:02') },
      ],
    },
    {
      filename: 'Routes and stops.csv',
      category: 'operations',
      confidentiality: 'nda_gated',
      by: 'tomasz',
      at: ago(62, '11:25'),
      body: csv(
        'Route|Stops|Leaves|Back',
        'Lakefront|31|03:40|07:55',
        'Heights|34|03:55|08:20',
        'South|27|04:10|08:05',
        'West|29|03:50|08:10',
        'Downtown|19|04:20|07:30',
      ),
      openings: [{ person: 'gregory', at: ago(46, '19:14') }],
    },
  ],
};
