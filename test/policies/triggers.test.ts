import { testChecks } from './staged.ts';
import { triggerChecks } from './triggers.ts';

testChecks(triggerChecks);
