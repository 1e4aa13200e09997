/** Uploads files of financials through the route, as a broker does. */

import { expect } from 'vitest';
import type { WebScene } from '../web/scene.ts';

/** Returns a function that uploads a file to a deal as its broker, and expects the upload to complete. */
export function uploadTo(web: WebScene, deal: string) {
  return async (file: string, type = 'profit_and_loss'): Promise<void> => {
    const { headers } = await web.as('broker');
    const query = new URLSearchParams({ snapshot_type: type, filename: 'books.csv' });
    const response = await fetch(`${web.service.origin}/api/web/deals/${deal}/qoe/snapshots?${query}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/csv' },
      body: file,
    });
    expect(await response.json()).toMatchObject({ status: 'completed' });
  };
}

/** A profit and loss file with these revenues by period; half of each is gross profit, and a fifth EBITDA. */
export const profitAndLoss = (revenues: Readonly<Record<string, number>>): string =>
  `period,currency,revenue,gross_profit,ebitda\n${Object.entries(revenues)
    .map(([period, revenue]) => `${period},USD,${revenue},${revenue / 2},${revenue / 5}\n`)
    .join('')}`;
