/** Findings and financing, on their pages and through their tools. */

import type { FinancingSource, FinancingTotal } from '../../server/domain/offers/financing.ts';
import type { Finding, FindingChange, FindingComment } from '../../server/domain/diligence/findings.ts';
import { formatMoney } from '../../web/src/lib/format.ts';
import { commitmentStates, financingTypes, findingSeverities, findingStates } from '../../web/src/lib/states.ts';
import { list, word, type Lines } from './rows-list.ts';
import { linesOf } from './rows-read.ts';

interface WholeFinding extends Finding {
  readonly comments: FindingComment[];
  readonly history: FindingChange[];
}

const state = (status: string): string => word(findingStates, status).toLowerCase();

export const findings = list<WholeFinding>({
  what: 'findings, their comments and their history',
  tool: 'svc_findings_list, svc_findings_get',
  decidedBy: ['findings', 'finding_comments', 'finding_changes'],
  kinds: 4,
  shown: async (page) => {
    const shown: Lines[] = [];
    for (const card of await page.getByRole('main').locator('ul > li').all()) {
      await card.locator('summary').evaluateAll((all) => all.forEach((one) => one.click()));
      // Every finding has a history, which begins when it was recorded.
      await card.getByRole('listitem').first().waitFor();
      const [lines = []] = await linesOf(card);
      shown.push([...lines, `${await card.getByRole('listitem').count()} in the past`]);
    }
    return shown;
  },
  ask: async (person) => {
    const found = await person.rows<Finding>('svc_findings_list');
    const whole = found.map(({ id }) => person.call<{ finding: WholeFinding }>('svc_findings_get', { finding_id: id }));
    return (await Promise.all(whole)).map(({ finding }) => finding);
  },
  facts: (finding, person) => {
    const who = (userId: string | null): string => person.nameOf(userId) ?? 'Someone';
    const { comments, history } = finding;
    return [
      word(findingSeverities, finding.severity),
      word(findingStates, finding.status),
      finding.category,
      finding.title,
      finding.description,
      `${who(finding.created_by)} recorded it ${finding.created_at}`,
      finding.owner_user_id && `Owner: ${who(finding.owner_user_id)}`,
      finding.status_notes,
      ...comments.flatMap((one) => [`${who(one.created_by)} ${one.created_at}`, one.body]),
      ...history.map(({ from_status: from, to_status: to, changed_by, changed_at }) => {
        const done = from === null ? 'recorded it' : `changed the status from ${state(from)} to ${state(to)}`;
        return `${who(changed_by)} ${done} ${changed_at}`;
      }),
      ...history.map(({ notes }) => notes),
      `${comments.length + history.length} in the past`,
    ];
  },
});

export const sources = list<FinancingSource>({
  what: 'sources of financing',
  tool: 'svc_financing_stack_get',
  decidedBy: ['financing_sources'],
  kinds: 4,
  shown: (page) => linesOf(page.getByRole('main').locator('ul > li')),
  facts: (source) => [
    source.source_name,
    word(financingTypes, source.source_type),
    formatMoney(String(source.commitment_amount), source.currency),
    word(commitmentStates, source.commitment_status),
  ],
});

export const totals = list<FinancingTotal>({
  what: 'what the sources of each side come to by status',
  tool: 'svc_financing_stack_get',
  differs: 'The page adds up what still counts; the tool also what expired and what was withdrawn.',
  decidedBy: ['financing_sources'],
  kinds: 4,
  shown: (page) => linesOf(page.getByRole('main').locator('dl > div')),
  ask: async (person) => {
    const { totals: all } = await person.call<{ totals: FinancingTotal[] }>('svc_financing_stack_get');
    return all.filter(({ commitment_status: status }) => status !== 'expired' && status !== 'withdrawn');
  },
  facts: ({ commitment_status, total, currency }) => [
    word(commitmentStates, commitment_status),
    formatMoney(total, currency),
  ],
});
