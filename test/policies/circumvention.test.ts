/** Checks that the attempts of circumvention.ts achieve nothing. */

import { circumventions } from './circumvention.ts';
import { testChecks } from './staged.ts';

testChecks(circumventions);
