/** Runs the checks of particulars.ts on the policies. */

import { particulars } from './particulars.ts';
import { testChecks } from './staged.ts';

testChecks(particulars);
