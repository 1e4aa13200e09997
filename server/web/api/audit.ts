/** The audit trail: the person's own records, and for admins the records of their brokerage; in pages and as a file. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Place } from '../../database/paging.ts';
import { auditTitle } from '../../domain/audit/actions.ts';
import { recordExport } from '../../domain/audit/audited.ts';
import { auditRecords, type AuditRecord } from '../../domain/audit/records.ts';
import type { ToolFacts } from '../../domain/clients/tool-grants.ts';
import { presentAndFormerMembers } from '../../domain/people/members.ts';
import { listMemberships } from '../../domain/people/people.ts';
import { withinDeal } from '../../domain/visibility/deal-scope.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson, asPersonWithin, withPersonWithin } from '../../http/person.ts';
import { nothingThere } from '../../http/problem.ts';
import { csvExport } from './csv.ts';
import { listPages } from './list-pages.ts';
import { id, instant, optional, pageCursor, pageSize, query } from './input.ts';

const Filter = z.object({
  brokerage_id: optional(id),
  user_id: optional(id),
  deal_id: optional(id),
  action: optional(z.string().max(100, 'At most 100 characters.')),
  outcome: optional(z.enum(['done', 'refused'], 'Choose done or refused.')),
  from: optional(instant),
  to: optional(instant),
});
const Brokerage = z.object({ brokerage_id: id });
const List = Filter.extend({ cursor: pageCursor, limit: pageSize });

const filterOf = ({ brokerage_id, user_id, deal_id, ...rest }: z.output<typeof Filter>) => ({
  brokerageId: brokerage_id,
  userId: user_id,
  dealId: deal_id,
  action: rest.action,
  outcome: rest.outcome,
  from: rest.from,
  to: rest.to,
});

// Without the kinds of actions, which are the caller's text.
/** The filter of an export, as its record keeps it. */
const narrowedTo = ({ userId, dealId, outcome, from, to }: ReturnType<typeof filterOf>) =>
  Object.fromEntries(
    Object.entries({ person: userId, deal: dealId, outcome, from, to }).filter(([, value]) => value !== null),
  );
/** The filter's deal, which is then the only one that is looked at. */
const scopeOf = ({ dealId }: ReturnType<typeof filterOf>) => (dealId === null ? null : withinDeal(dealId));

// With the ids beside the names: a name can be changed, and several may have the same.
const columns: readonly (readonly [heading: string, cell: (record: AuditRecord) => string | null])[] = [
  ['at', ({ at }) => at],
  ['person', ({ user_name }) => user_name],
  ['client', ({ client_name }) => client_name],
  ['key', ({ key_name }) => key_name],
  ['deal', ({ deal_title }) => deal_title],
  ['action', ({ action }) => action],
  ['outcome', ({ outcome }) => outcome],
  ['subject', ({ subject_id }) => subject_id],
  ['address', ({ address }) => address],
  ['request', ({ request_id }) => request_id],
  ['details', ({ details }) => (Object.keys(details).length > 0 ? JSON.stringify(details) : null)],
  ['person_id', ({ user_id }) => user_id],
  ['client_id', ({ client_id }) => client_id],
  ['key_id', ({ key_id }) => key_id],
  ['deal_id', ({ deal_id }) => deal_id],
  ['record_id', (record) => record.id],
];
const heading = columns.map(([name]) => name);
const cellsOf = (record: AuditRecord) => columns.map(([, cell]) => cell(record));

/** The audit routes, below /api/web. */
export function auditRoutes(services: Services, tools: readonly ToolFacts[]) {
  const titles = new Map(tools.map(({ name, title }) => [name, title]));
  /** The record with its title, and with the title of the tool that its details name. */
  const titled = (record: AuditRecord) => {
    const { tool } = record.details;
    return {
      ...record,
      title: auditTitle(record.action, record.details, titles),
      tool_title: (typeof tool === 'string' ? titles.get(tool) : undefined) ?? null,
    };
  };
  const pages = listPages(services);

  return new Hono()
    .get('/audit', query(List), async (c) => {
      const { cursor, limit, ...given } = c.req.valid('query');
      const filter = filterOf(given);
      const page = await pages(`audit ${JSON.stringify(filter)}`, cursor);
      const records = auditRecords({ ...filter, after: page.after, limit });
      const [person, { items, next }] = await withPersonWithin(scopeOf(filter))(services, c, records);
      return c.json(page.answer(person, { items: items.map(titled), next }));
    })

    .get('/audit/people', query(Brokerage), async (c) => {
      const [items] = await asPerson(services, c, presentAndFormerMembers(c.req.valid('query').brokerage_id));
      return c.json({ items });
    })

    .get('/audit/export', query(Filter), async (c) => {
      const filter = filterOf(c.req.valid('query'));
      // Each portion authenticates the reader again: the export continues only while the caller has the role that they
      // had at its start.
      let began: string | null = null;
      const read = async (after: Place | null, limit: number) => {
        const [memberships, found] = await asPersonWithin(
          services,
          c,
          scopeOf(filter),
          listMemberships(),
          auditRecords({ ...filter, after, limit }),
          ...(after === null
            ? [recordExport('audit.export', filter.brokerageId, narrowedTo(filter), originOf(c))]
            : []),
        );
        const role = memberships.find(({ brokerage_id }) => brokerage_id === filter.brokerageId)?.role ?? null;
        if (after === null) began = role;
        else if (role !== began) throw nothingThere();
        return found;
      };
      return csvExport(c, { name: 'audit-trail', heading, cells: cellsOf, read });
    });
}
