/** Checks the lists that are read past the policies, and what the statement that enters answers about a deal. */

import { enteringChecks } from './entering.ts';
import { listChecks } from './lists.ts';
import { testChecks } from './staged.ts';

testChecks([...listChecks, ...enteringChecks]);
