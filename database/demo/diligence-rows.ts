/** Makes rows of the diligence on a business: the QoE workspace, findings, financing and closing conditions. */

import { amounts } from './books.ts';
import { yearBefore } from './relative-times.ts';
import { decimal } from './money.ts';
import type { AddBack, Finding, Snapshot } from './deal-types.ts';
import type { DealContext } from './deal-rows.ts';

function addSnapshot({ collector, dealId, userIds, at, atOrNull }: DealContext, snapshot: Snapshot): void {
  const id = collector.add('accounting_snapshots', at(snapshot.requested), {
    deal_id: dealId,
    snapshot_type: snapshot.type,
    status: snapshot.status,
    source_name: snapshot.source,
    failure: snapshot.failure ?? null,
    requested_by: userIds[snapshot.by],
    requested_at: at(snapshot.requested),
    completed_at: atOrNull(snapshot.completed),
  });
  const made = at(snapshot.completed ?? snapshot.requested);
  const read = snapshot.books?.(made);
  for (const { label, first, last, lines } of read?.periods ?? []) {
    collector.add('pl_periods', made, {
      deal_id: dealId,
      snapshot_id: id,
      period_label: label,
      period_start_date: first,
      period_end_date: last,
      currency: 'USD',
      ...amounts(lines),
    });
  }
  for (const { first, last, customers } of read?.customers ?? []) {
    for (const customer of customers) {
      collector.add('customer_revenues', made, {
        deal_id: dealId,
        snapshot_id: id,
        customer_name: customer.name,
        period_start_date: first,
        period_end_date: last,
        currency: 'USD',
        revenue_total: decimal(customer.revenue),
      });
    }
  }
}

/** `lastYear` is the last complete calendar year at the time of the first add-back. */
function addNormalization({ collector, dealId, userIds, at }: DealContext, addBack: AddBack, lastYear: number): void {
  const { period } = addBack;
  collector.add('normalizations', at(addBack.at), {
    deal_id: dealId,
    period_label: period === 'last_twelve_months' ? 'TTM' : `FY${lastYear - period.yearsBack}`,
    adjustment_category: addBack.category,
    adjustment_amount: addBack.amount,
    rationale: addBack.rationale,
    created_by: userIds[addBack.by],
    created_at: at(addBack.at),
  });
}

function addFinding({ collector, dealId, userIds, partOf, at }: DealContext, finding: Finding): void {
  const moves = finding.moves ?? [];
  const latest = moves.at(-1);
  const id = collector.add('findings', at(finding.at), {
    deal_id: dealId,
    participant_id: partOf(finding.side),
    category: finding.category,
    title: finding.title,
    description: finding.description,
    severity: finding.severity,
    status: latest?.to ?? 'open',
    status_notes: latest?.notes ?? null,
    owner_user_id: finding.owner ? userIds[finding.owner] : null,
    created_by: userIds[finding.by],
    created_at: at(finding.at),
    updated_at: at(latest?.at ?? finding.at),
  });
  let status: string | null = null;
  for (const move of [{ to: 'open', by: finding.by, at: finding.at, notes: null }, ...moves]) {
    collector.add('finding_changes', at(move.at), {
      finding_id: id,
      from_status: status,
      to_status: move.to,
      notes: move.notes,
      changed_by: userIds[move.by],
      changed_at: at(move.at),
    });
    status = move.to;
  }
  for (const comment of finding.comments ?? []) {
    collector.add('finding_comments', at(comment.at), {
      finding_id: id,
      body: comment.body,
      created_by: userIds[comment.by],
      created_at: at(comment.at),
    });
  }
}

/** Adds the QoE workspace of a deal, and its progress toward closing. */
export function addDiligence(context: DealContext): void {
  const { collector, calendar, deal, dealId, userIds, partOf, at, atOrNull } = context;
  for (const seat of deal.workspace ?? []) {
    collector.put('qoe_workspace_members', {
      deal_id: dealId,
      participant_id: partOf(seat.person),
      role: seat.role,
      added_by: userIds[seat.addedBy],
      added_at: at(seat.added),
    });
  }
  const began = at(deal.workspace?.[0]?.added ?? deal.opened);
  for (const [position, check] of (deal.checklist ?? []).entries()) {
    collector.add('qoe_checklist', began, {
      deal_id: dealId,
      category: check.category,
      title: check.title,
      status: check.status,
      completed_at: atOrNull(check.completed),
      position,
      created_at: began,
      updated_at: at(check.completed ?? deal.workspace?.[0]?.added ?? deal.opened),
    });
  }
  for (const snapshot of deal.snapshots ?? []) addSnapshot(context, snapshot);
  const [firstAddBack] = deal.addBacks ?? [];
  for (const addBack of deal.addBacks ?? [])
    addNormalization(context, addBack, yearBefore(at(firstAddBack?.at ?? addBack.at)));
  for (const condition of deal.conditions ?? []) {
    collector.add('closing_conditions', at(condition.added), {
      deal_id: dealId,
      name: condition.name,
      status: condition.status,
      owner_user_id: condition.owner ? userIds[condition.owner] : null,
      deadline: condition.deadline ? calendar.date(condition.deadline) : null,
      completed_at: atOrNull(condition.completed),
      created_at: at(condition.added),
      updated_at: at(condition.completed ?? condition.added),
    });
  }
  for (const finding of deal.findings ?? []) addFinding(context, finding);
  for (const source of deal.financing ?? []) {
    collector.add('financing_sources', at(source.at), {
      deal_id: dealId,
      participant_id: partOf(source.side),
      source_type: source.type,
      source_name: source.name,
      commitment_amount: source.amount,
      currency: 'USD',
      commitment_status: source.status,
      created_by: userIds[source.by],
      created_at: at(source.at),
      updated_at: at(source.changed ?? source.at),
    });
  }
}
