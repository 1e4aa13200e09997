/** Lists that are read past the policies. */

import { listChecks } from './lists.ts';
import { testChecks } from './staged.ts';

testChecks(listChecks);
