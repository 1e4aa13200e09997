/** Relative times in the words of the pages. */

import { expect, test } from 'vitest';
import { formatRelative } from '../../web/src/lib/format.ts';

const evening = new Date(2026, 10, 26, 18, 50);

test.each([
  [new Date(2026, 10, 26, 18, 50), 'just now'],
  [new Date(2026, 10, 26, 18, 7), '43 minutes ago'],
  [new Date(2026, 10, 25, 19, 0), '23 hours ago'],
  [new Date(2026, 10, 25, 8, 0), 'yesterday'],
  // Less than two whole days, but no longer yesterday.
  [new Date(2026, 10, 24, 22, 0), '2 days ago'],
  [new Date(2026, 10, 20, 9, 0), '6 days ago'],
  [new Date(2026, 10, 13, 19, 0), '1 week ago'],
  [new Date(2026, 8, 30, 12, 0), '1 month ago'],
  [new Date(2024, 10, 26, 12, 0), '2 years ago'],
  [new Date(2026, 10, 27, 20, 0), 'tomorrow'],
  [new Date(2026, 10, 28, 9, 0), 'in 2 days'],
])('%s is shown as %s', (at, words) => expect(formatRelative(at.toISOString(), evening.getTime())).toBe(words));
