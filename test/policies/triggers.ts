/** What the triggers of the tables refuse, and what they bring about elsewhere, each tried in a transaction that is taken back. */

import type { Check } from './scene.ts';
import { dealsChecks } from './triggers-deals.ts';
import { peopleChecks } from './triggers-people.ts';
import { recordsChecks } from './triggers-records.ts';

/** Each rejects when a trigger lets pass, or brings about, more or less than it should. */
export const triggerChecks: readonly Check[] = [...dealsChecks, ...recordsChecks, ...peopleChecks];
