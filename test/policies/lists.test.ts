/** Lists that are read past the policies, and what is told of a deal by the statement that enters. */

import { enteringChecks } from './entering.ts';
import { listChecks } from './lists.ts';
import { testChecks } from './staged.ts';

testChecks([...listChecks, ...enteringChecks]);
