/** The words of a report, the same in the PDF and in the workbook. */

import type { AdjustmentCategory } from '../diligence/normalizations.ts';
import type { PlAmount, Snapshot } from '../diligence/snapshots.ts';

export const lineWords: Readonly<Record<PlAmount, string>> = {
  revenue: 'Revenue',
  cost_of_goods_sold: 'Cost of goods sold',
  gross_profit: 'Gross profit',
  operating_expenses: 'Operating expenses',
  owner_compensation: 'Owner’s pay',
  depreciation_amortization: 'Depreciation and amortization',
  interest_expense: 'Interest',
  tax_expense: 'Income tax',
  net_income: 'Net income',
  ebitda: 'EBITDA',
};

export const categoryWords: Readonly<Record<AdjustmentCategory, string>> = {
  owner_comp: 'Owner compensation',
  related_party: 'Related party',
  one_time: 'One-time',
  other: 'Other',
};

export const uploadWords: Readonly<Record<Snapshot['snapshot_type'], string>> = {
  profit_and_loss: 'Profit and loss',
  customer_revenue: 'Revenue by customer',
  full: 'Profit and loss, revenue by customer',
};

export const changeWords = {
  grown: 'Grown',
  new: 'New',
  kept: 'Kept as they were',
  shrunk: 'Shrunk',
  lost: 'Lost',
} as const;

export const termWords = {
  purchase_price: 'Price',
  cash_at_close: 'Cash at close',
  seller_note: 'Seller’s note',
  earnout: 'Earn-out',
  rollover_equity: 'Rollover equity',
  unsaid: 'Not said',
} as const;

/** What every report says of itself. */
export const computedFrom = 'Computed from what was uploaded. It is no audit and no advice.';

/** "QoE report, Harbor HVAC": what a report is called. */
export const titleOf = ({ title }: { readonly title: string }): string => `Quality of earnings: ${title}`;
