/**
 * What the triggers of the tables refuse, and what they cause elsewhere, each tried in a transaction that is rolled
 * back.
 */

import type { Check } from './scene.ts';
import { dealsChecks } from './triggers-deals.ts';
import { peopleChecks } from './triggers-people.ts';
import { recordsChecks } from './triggers-records.ts';

/** Each rejects when a trigger permits, or causes, more or less than it should. */
export const triggerChecks: readonly Check[] = [...dealsChecks, ...recordsChecks, ...peopleChecks];
