/** Holds the live catalogue to the checks of catalogue.ts. */

import { catalogueChecks } from './catalogue.ts';
import { testChecks } from './staged.ts';

testChecks(catalogueChecks);
