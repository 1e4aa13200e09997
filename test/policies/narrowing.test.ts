/** Transactions that are narrowed to one deal. */

import { narrowingChecks } from './narrowing.ts';
import { testChecks } from './staged.ts';

testChecks(narrowingChecks);
