/** Every operation on deals and their records. */

import type { Services } from '../../services.ts';
import type { Callers } from '../caller.ts';
import type { Operation } from '../operation.ts';
import { conditionOperations } from './conditions.ts';
import { dealOperations } from './deals.ts';
import { diligenceOperations } from './diligence.ts';
import { documentOperations } from './documents.ts';
import { offerOperations } from './offers.ts';
import { participantOperations } from './participants.ts';
import { qoeOperations } from './qoe.ts';

/** All operations; `callers` authenticates API keys. */
export const operationsOnDeals = (services: Services, callers: Callers): readonly Operation[] =>
  [
    dealOperations,
    participantOperations,
    offerOperations,
    diligenceOperations,
    documentOperations,
    qoeOperations,
    conditionOperations,
  ].flatMap((operations) => operations(services, callers));
