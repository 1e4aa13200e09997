/** What API keys see and change on deals. */

import { keysAskedChecks } from './keys-asked.ts';
import { keyChecks } from './keys.ts';
import { testChecks } from './staged.ts';

testChecks([...keyChecks, ...keysAskedChecks]);
