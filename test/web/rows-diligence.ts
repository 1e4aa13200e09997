/** Findings and financing, on their pages and by their tools. */

import type { FinancingSource, FinancingTotal } from '../../server/domain/financing.ts';
import type { Finding, FindingChange, FindingComment } from '../../server/domain/findings.ts';
import { formatMoney } from '../../web/src/lib/format.ts';
import { commitmentStates, financingTypes, findingSeverities, findingStates } from '../../web/src/lib/states.ts';
import { list, word } from './rows-list.ts';
import type { Person } from './rows-person.ts';
import { linesOf } from './rows-read.ts';

interface WholeFinding extends Finding {
  readonly comments: FindingComment[];
  readonly history: FindingChange[];
}

const called = (person: Person, userId: string | null): string => person.nameOf(userId) ?? 'Somebody';
const state = (status: string): string => word(findingStates, status).toLowerCase();

/** What a finding's card says of its past, line by line. */
function pastOf({ comments, history }: WholeFinding, person: Person): string[] {
  const changes = history.flatMap(({ from_status: from, to_status: to, notes, changed_by, changed_at }) => {
    const done = from === null ? 'recorded it' : `changed it from ${state(from)} to ${state(to)}`;
    const line = `${called(person, changed_by)} ${done} ${changed_at}`;
    return from === null || notes === null ? [line] : [line, notes];
  });
  const said = comments.flatMap((one) => [`${called(person, one.created_by)} ${one.created_at}`, one.body]);
  return [...changes, ...said];
}

export const findings = list<WholeFinding>({
  what: 'findings, their comments and their history',
  tool: 'svc_findings_list, svc_findings_get',
  decidedBy: ['findings', 'finding_comments', 'finding_changes'],
  kinds: 4,
  shown: async (page) => {
    const cards = page.getByRole('main').locator('ul > li');
    await cards.locator('summary').evaluateAll((all) => all.forEach((one) => one.click()));
    return (await linesOf(cards)).map(([severity, status, category, recorded, title, ...rest]) => {
      const end = rest.findIndex((line) => line.endsWith('and history'));
      const told = { severity, status, category, recorded, title };
      return { ...told, text: rest.slice(0, end), past: rest.slice(end + 1) };
    });
  },
  ask: async (person) => {
    const found = await person.rows<Finding>('svc_findings_list');
    const whole = found.map(({ id }) => person.call<{ finding: WholeFinding }>('svc_findings_get', { finding_id: id }));
    return (await Promise.all(whole)).map(({ finding }) => finding);
  },
  row: (finding, person) => ({
    severity: word(findingSeverities, finding.severity),
    status: word(findingStates, finding.status),
    category: finding.category,
    recorded: `${called(person, finding.created_by)} recorded it ${finding.created_at}`,
    title: finding.title,
    text: [
      finding.description,
      finding.owner_user_id && `Looked after by ${called(person, finding.owner_user_id)}`,
      finding.status_notes,
    ].filter((line) => line !== null),
    past: pastOf(finding, person),
  }),
});

export const sources = list<FinancingSource>({
  what: 'sources of financing',
  tool: 'svc_financing_stack_get',
  decidedBy: ['financing_sources'],
  kinds: 4,
  shown: async (page) => {
    const rows = await linesOf(page.getByRole('main').locator('ul > li'));
    return rows.map(([from, kind, amount, status]) => ({ from, kind, amount, status }));
  },
  row: (source) => ({
    from: source.source_name,
    kind: word(financingTypes, source.source_type),
    amount: formatMoney(String(source.commitment_amount), source.currency),
    status: word(commitmentStates, source.commitment_status),
  }),
});

export const totals = list<FinancingTotal>({
  what: 'what the sources come to by status',
  tool: 'svc_financing_stack_get',
  decidedBy: ['financing_sources'],
  kinds: 4,
  shown: async (page) => {
    const cells = await linesOf(page.getByRole('main').locator('dl > div'));
    return cells.map(([status, amount]) => ({ status, amount }));
  },
  ask: async (person) => (await person.call<{ totals: FinancingTotal[] }>('svc_financing_stack_get')).totals,
  row: ({ commitment_status, total, currency }) => ({
    status: word(commitmentStates, commitment_status),
    amount: formatMoney(total, currency),
  }),
});
