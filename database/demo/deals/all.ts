/** Every deal of the demo, and which of them demo.json names. */

import type { DemoDeal } from '../deal-types.ts';
import { bakery } from './bakery.ts';
import { dentalLab } from './dental-lab.ts';
import { machineShop, physicalTherapy } from './drafts.ts';
import { hvac } from './hvac/deal.ts';
import { landscaping } from './landscaping.ts';
import { managedServices } from './managed-services.ts';
import { janitorial, plumbing, roaster } from './closed-and-withdrawn.ts';
import { boatyard, rentals, seafood } from './pelican-quay.ts';
import { petSupplements } from './pet-supplements.ts';
import { veterinary } from './veterinary.ts';

export const deals: readonly DemoDeal[] = [
  hvac,
  machineShop,
  physicalTherapy,
  dentalLab,
  bakery,
  petSupplements,
  veterinary,
  managedServices,
  landscaping,
  roaster,
  janitorial,
  plumbing,
  boatyard,
  seafood,
  rentals,
];

/** The keys of the deals in demo.json. */
export const namedDeals = {
  with_everything: hvac.key,
  draft: machineShop.key,
  without_broker: dentalLab.key,
  of_other_brokerage: boatyard.key,
} as const;
