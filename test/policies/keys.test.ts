/** What API keys see and change on deals. */

import { keyChecks } from './keys.ts';
import { testChecks } from './staged.ts';

testChecks(keyChecks);
