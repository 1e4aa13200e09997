/** The current state of changed records: the `data` of events, for their readers and the receivers of webhooks. */

import { mapped, type Statement } from '../database/statement.ts';
import { contactsByIds } from './contacts/records.ts';
import { conditionsByIds } from './deals/conditions.ts';
import { dealsByIds } from './deals/deals.ts';
import { ndasByIds } from './deals/ndas.ts';
import { participantsByIds } from './deals/participants.ts';
import { checklistByIds } from './diligence/checklist.ts';
import { findingsByIds } from './diligence/findings.ts';
import { normalizationsByIds } from './diligence/normalizations.ts';
import { questionsByIds } from './diligence/questions.ts';
import { snapshotsByIds } from './diligence/snapshots.ts';
import { documentsByIds } from './documents/documents.ts';
import { sourcesByIds } from './offers/financing.ts';
import { offersByIds } from './offers/offers.ts';
import { amongDeals } from './visibility/deal-scope.ts';
import type { ChangeEvent, ObjectType } from './events/changes.ts';
import { resourceOf, offerResource } from './events/resources.ts';

/** A record as its own route returns it. */
type RecordResource = Readonly<Record<string, unknown>>;
type Expansion = (ids: readonly string[]) => Statement<readonly (readonly [id: string, record: RecordResource])[]>;

/** Reads the records with these ids that the caller sees, each converted by `show`. */
const by =
  <T extends { id: string }>(
    read: (ids: readonly string[]) => Statement<T[]>,
    show: (record: T) => RecordResource = resourceOf,
  ): Expansion =>
  (ids) =>
    mapped(read(ids), (found) => found.map((record) => [record.id, show(record)] as const));

const expansions: Record<ObjectType, Expansion> = {
  contact: by(contactsByIds, (contact) => ({ ...contact })),
  deal: by(dealsByIds),
  participant: by(participantsByIds),
  nda: by(ndasByIds),
  offer: by(offersByIds, offerResource),
  question: by(questionsByIds),
  document: by(documentsByIds.simple),
  production_document: by(documentsByIds.production),
  qoe_checklist_item: by(checklistByIds),
  accounting_snapshot: by(snapshotsByIds),
  normalization: by(normalizationsByIds),
  closing_condition: by(conditionsByIds),
  finding: by(findingsByIds),
  financing_source: by(sourcesByIds),
};

/**
 * An event as readers and webhooks get it. `data`, on request, is the current record, or null when it does not exist or
 * the caller may not see it.
 */
export interface ShownEvent extends ChangeEvent {
  readonly data?: unknown;
}

/** The features that can be turned off: their records then have no route. */
interface Features {
  readonly findings: boolean;
  readonly financing: boolean;
}

const hasPath = (type: ObjectType, { findings, financing }: Features): boolean =>
  type === 'finding' ? findings : type === 'financing_source' ? financing : true;

/** Restricts the rest of a key's transaction to the deals of these events. */
export const amongDealsOf = (events: readonly ChangeEvent[]): Statement<unknown> =>
  amongDeals([...new Set(events.flatMap(({ dealId }) => dealId ?? []))]);

/** Reads the records of the events, in one statement for each type. */
export const recordsOf = (events: readonly ChangeEvent[], features: Features): ReturnType<Expansion>[] =>
  [...Map.groupBy(events, ({ objectType }) => objectType)]
    .filter(([type]) => hasPath(type, features))
    .map(([type, those]) => expansions[type]([...new Set(those.map(({ objectId }) => objectId))]));

/** Adds the records to their events. */
export function withRecords(
  events: readonly ChangeEvent[],
  found: readonly (readonly (readonly [id: string, record: RecordResource])[])[],
): ShownEvent[] {
  const byId = new Map(found.flat());
  return events.map((one) => ({ ...one, data: byId.get(one.objectId) ?? null }));
}
