/** Calls tools and checks every answer against the tool's contract. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import { plAmounts } from '../../server/domain/diligence/snapshots.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import type { TestNode } from '../harness.ts';
import { caller, roles, type Access, type FullDeal, type ToolAnswer } from './scene.ts';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
formats.default(ajv);
const promised = new Map<string, ValidateFunction>(
  catalog.map(({ name, listed }) => [name, ajv.compile(listed.outputSchema ?? {})]),
);
const exactly = new Map(catalog.map(({ name, output }) => [name, output]));

/** The page, below the deal's, that shows what a tool answers, by prefix of the tool's name. */
const pages: readonly (readonly [prefix: string, page: string])[] = [
  ['svc_deals_get', ''],
  ['svc_qoe_', '/qoe'],
  ['svc_findings_', '/findings'],
  ['svc_questions_', '/questions'],
  ['svc_documents_', '/documents'],
  ['svc_offers_', '/offers'],
  ['svc_financing_', '/financing'],
  ['svc_closing_', '/closing'],
];

/**
 * Checks the links of a success: none if there is nothing to show and no hint that leads to a page, one page for a
 * deal, a pattern for the pipeline.
 */
function checkLinks(name: string, { url, deal_url, hint, ...told }: Readonly<Record<string, unknown>>): void {
  const isEmpty = Object.values(told).every((value) => value === null || (Array.isArray(value) && value.length === 0));
  // A hint that people like the caller are not shown such records leads nowhere: the page does not open for them either.
  const leadsToPage = /\burl\b/.test((hint as { message: string } | undefined)?.message ?? '');
  if (isEmpty && !leadsToPage) {
    expect([name, url, deal_url]).toEqual([name, undefined, undefined]);
    return;
  }
  const { pathname } = new URL(String(url));
  if (name === 'svc_deals_list') {
    expect([pathname, deal_url]).toEqual(['/deals', `${String(url)}/{id}`]);
    return;
  }
  const page = pages.find(([prefix]) => name.startsWith(prefix))?.[1] ?? 'none';
  expect(pathname).toMatch(new RegExp(`^/deals/[0-9a-f-]{36}${page}$`));
}

/** Checks an answer against the output schema; a success must also have every field and no other. */
export function check(name: string, { content, structuredContent, isError }: ToolAnswer): void {
  expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
  expect(promised.get(name)?.(structuredContent), `${name}: ${JSON.stringify(promised.get(name)?.errors)}`).toBe(true);
  if (isError) expect(Object.keys(structuredContent).slice(0, 2)).toEqual(['error', 'message']);
  else {
    expect(exactly.get(name)?.safeParse(structuredContent).error?.issues ?? []).toEqual([]);
    checkLinks(name, structuredContent);
  }
}

type Input = Record<string, unknown>;
type Row = Record<string, unknown>;

/** The months of an answer of svc_qoe_pl_periods, read as its description says, each with every field by name. */
function periodsOf({ snapshots, columns, periods }: Input): Row[] {
  return (periods as Row[]).map(({ snapshot = 0, amounts, ...period }) => {
    const start = String(period['period_start_date']);
    const end = new Date(Date.UTC(Number(start.slice(0, 4)), Number(start.slice(5, 7)), 0)).toISOString();
    const named = plAmounts.map((name): [string, unknown] => {
      const at = (columns as string[]).indexOf(name);
      return [name, at < 0 ? null : (amounts as unknown[])[at]];
    });
    const books = (snapshots as Row[])[Number(snapshot)];
    const month = { period_label: start.slice(0, 7), period_end_date: end.slice(0, 10) };
    return { ...books, ...month, ...period, ...Object.fromEntries(named) };
  });
}

/** The rows of an answer's first list, each with the values added that the answer states once beside the list. */
export function rowsOf(tool: string, answer: Input): Row[] {
  if (tool === 'svc_qoe_pl_periods') return periodsOf(answer);
  const beside = Object.entries(answer).filter(([name, value]) => typeof value === 'string' && !name.endsWith('url'));
  const list = Object.values(answer).find((value) => Array.isArray(value)) as Row[];
  return list.map((row) => ({ ...Object.fromEntries(beside), ...row }));
}

/** Calls tools with an access token. `ok` expects success, `refused` a refusal; both return the structured content. */
export function asking(node: Pick<TestNode, 'mcpUrl'>, access: Pick<Access, 'token'>) {
  const call = caller(node, access);
  const answer = async (name: string, input: Input, isError: boolean): Promise<Input> => {
    const found = await call(name, input);
    check(name, found);
    expect(found.isError ?? false, JSON.stringify(found.structuredContent)).toBe(isError);
    return found.structuredContent;
  };
  return {
    ok: (name: string, input: Input = {}) => answer(name, input, false),
    refused: (name: string, input: Input = {}) => answer(name, input, true),
    /** The rows of a success that consists of one list. */
    async rows<R = Record<string, unknown>>(name: string, input: Input = {}): Promise<R[]> {
      return rowsOf(name, await answer(name, input, false)) as R[];
    },
  };
}

/** The number of a deal's rows that a tool returns to each role, without the roles that get none. */
export async function countsByRole(
  node: Pick<TestNode, 'mcpUrl'>,
  { deal, people }: FullDeal,
  tool: string,
  list: string,
): Promise<Record<string, number>> {
  const found: [string, number][] = [];
  for (const role of roles) {
    const answer = await asking(node, people[role]).ok(tool, { deal_id: deal });
    found.push([role, (answer[list] as unknown[]).length]);
  }
  return Object.fromEntries(found.filter(([, count]) => count > 0));
}
