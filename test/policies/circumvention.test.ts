/** Holds the attempts of circumvention.ts to getting nowhere. */

import { circumventions } from './circumvention.ts';
import { testChecks } from './staged.ts';

testChecks(circumventions);
