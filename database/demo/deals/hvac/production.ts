/** Documents that were produced at the request of the HVAC contractor's buyer. */

import { csv, floorPlan, pdf } from '../../bodies.ts';
import { ago } from '../../relative-times.ts';
import type { Document } from '../../deal-types.ts';

export const production: readonly Document[] = [
  {
    filename: 'Organization chart without names.pdf',
    category: 'employees',
    confidentiality: 'public',
    request: '1. Organization chart, positions only',
    by: 'marcus',
    at: ago(38, '15:30'),
    body: pdf(
      'Organization',
      'In the field: two foremen, ten journeymen, five apprentices, two sheet-metal workers.',
      'In the office: service manager, office manager, dispatcher, two agreement coordinators, estimator, purchasing.',
    ),
    openings: [{ person: 'elena', at: ago(38, '19:11') }],
  },
  {
    filename: 'Proof of cash.pdf',
    category: 'financials',
    confidentiality: 'nda_gated',
    request: '2. Bank statements against recorded deposits, twelve months',
    by: 'ron',
    at: ago(29, '20:55'),
    body: pdf(
      'Proof of cash, twelve months',
      'Deposits per bank agree with recorded receipts within $1,240 after transfers between the operating and payroll accounts.',
      'One deposit of $22,480 is insurance for hail damage, not a customer.',
    ),
    openings: [{ person: 'tobias', at: ago(28, '14:16') }],
  },
  {
    filename: 'Receivables aging.csv',
    category: 'financials',
    confidentiality: 'nda_gated',
    request: '3. Receivables aging at the last month end',
    by: 'ron',
    at: ago(27, '21:12'),
    body: csv(
      'Bucket|Receivable|Accounts',
      'Current|418,220.15|61',
      '31 to 60 days|143,905.40|22',
      '61 to 90 days|38,411.00|7',
      'Over 90 days|12,760.25|3',
    ),
    openings: [{ person: 'tobias', at: ago(26, '18:33') }],
  },
  {
    filename: 'Vendor rebates by month.csv',
    category: 'financials',
    confidentiality: 'nda_gated',
    request: '5. Rebates received from equipment and parts vendors',
    by: 'marcus',
    at: ago(30, '15:40'),
    body: csv('Month|Equipment|Parts', 'April|0.00|1,850.00', 'July|0.00|2,140.00', 'October|31,400.00|2,310.00'),
  },
  {
    filename: 'Shop floor plan.png',
    category: 'real_estate',
    confidentiality: 'nda_gated',
    request: '9. Floor plan of the shop for the lease exhibit',
    by: 'ron',
    at: ago(24, '20:35'),
    body: floorPlan(
      [20, 20, 600, 360],
      [20, 20, 210, 150],
      [20, 170, 210, 210],
      [230, 20, 250, 360],
      [480, 20, 140, 200],
    ),
  },
  {
    filename: 'Payroll register, positions only.csv',
    category: 'employees',
    confidentiality: 'selected_buyer_only',
    request: '6. Payroll register for the last quarter without names',
    by: 'ron',
    at: ago(23, '22:25'),
    body: csv(
      'Position|Regular hours|Overtime hours|Hourly wage|Gross',
      'Foreman 1|520|60|41.50|25,315.00',
      'Foreman 2|520|48|41.50|24,568.00',
      'Journeyman 1|512|72|36.00|22,320.00',
      'Journeyman 2|520|40|36.50|21,170.00',
      'Apprentice 1|512|28|27.00|14,958.00',
    ),
    openings: [{ person: 'tobias', at: ago(22, '15:41') }],
  },
  {
    filename: 'Work in progress.csv',
    category: 'financials',
    confidentiality: 'selected_buyer_only',
    request: '4. Replacement jobs in progress at the last month end',
    by: 'marcus',
    at: ago(20, '18:20'),
    body: csv(
      'Job|Contract|Cost to date|Estimated cost|Billed',
      'Tollgate, building 4 rooftop units|186,400|98,210|124,900|111,840',
      'St. Brannoc, boiler plant|142,750|31,880|96,300|42,825',
      'Redhen Bakeries, make-up air|58,900|40,115|41,200|47,120',
    ),
    openings: [
      { person: 'tobias', at: ago(19, '20:07') },
      { person: 'elena', at: ago(19, '21:30') },
    ],
  },
  {
    filename: 'Settlement with former estimator, extract.pdf',
    category: 'legal',
    confidentiality: 'selected_buyer_only',
    request: '8. Settlement agreements of the last five years',
    by: 'ron',
    at: ago(10, '21:50'),
    body: pdf(
      'Settlement agreement - extract',
      'The former employee does not solicit school district and county accounts for 24 months. Mutual release. No payment by either side. The action is dismissed with prejudice.',
    ),
  },
];
