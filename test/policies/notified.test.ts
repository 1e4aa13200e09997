/** Who is notified of what (docs/notifications.md). */

import { notifiedChecks } from './notified.ts';
import { testChecks } from './staged.ts';

testChecks(notifiedChecks);
