/** Holds the policies to particulars.ts. */

import { particulars } from './particulars.ts';
import { testChecks } from './staged.ts';

testChecks(particulars);
