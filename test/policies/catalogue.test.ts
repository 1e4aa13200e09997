/** Runs the checks of catalogue.ts on the live catalogue. */

import { catalogueChecks } from './catalogue.ts';
import { testChecks } from './staged.ts';

testChecks(catalogueChecks);
