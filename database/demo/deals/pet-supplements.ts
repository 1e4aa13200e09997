/** An online brand of pet supplements; the demo buyer is invited and has not answered. */

import { pdf } from '../bodies.ts';
import { ago, ahead } from '../relative-times.ts';
import type { DemoDeal } from '../deal-types.ts';

export const petSupplements: DemoDeal = {
  key: 'pet-supplements',
  brokerage: 'bramwellOakes',
  title: 'E-commerce brand for pet joint and skin supplements',
  industry: 'E-commerce, pet supplements',
  location: 'Remote, inventory in Columbus, OH',
  summary:
    'Eleven products, made under contract, sold from its own shop (58%) and two marketplaces. 31,000 customers in the last year, 44% of them on subscription. Run by the owner and two contractors in about thirty hours a week.',
  askingPrice: '920000.00',
  state: 'listed',
  by: 'dana',
  opened: ago(58, '18:15'),
  changed: ago(47, '14:25'),
  parts: [
    { person: 'dana', role: 'broker', since: ago(58, '18:15') },
    { person: 'sasha', role: 'seller', since: ago(57, '15:30') },
    { person: 'benedict', role: 'buyer', since: ago(31, '16:20') },
    { person: 'elena', role: 'buyer', since: ago(1, '19:35'), status: 'invited' },
  ],
  ndas: [
    {
      buyer: 'benedict',
      sentBy: 'dana',
      sent: ago(30, '14:15'),
      status: 'active',
      signed: ago(30, '18:58'),
      expires: ahead(700),
    },
  ],
  questions: [
    {
      category: 'legal',
      by: 'benedict',
      asked: ago(21, '20:44'),
      status: 'answered',
      moved: ago(16, '17:12'),
      text: 'Who owns the formulas: the brand, or the contract manufacturer who mixes them?',
      answer: {
        by: 'sasha',
        at: ago(16, '17:12'),
        text: 'We own nine of the eleven, there is a paragraph in the manufacturing agreement. The two salmon oil ones are stock formulas that anybody can buy.',
      },
    },
  ],
  documents: [
    {
      filename: 'Teaser - Pet supplements.pdf',
      category: 'marketing',
      confidentiality: 'public',
      by: 'dana',
      at: ago(47, '14:30'),
      body: pdf(
        'Pet supplements, sold online',
        'Eleven products, $1.4 million of sales, 44% on subscription, about thirty hours of work a week. Offered at $920,000.',
      ),
    },
  ],
};
