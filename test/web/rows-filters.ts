/** The filters that a page and its tool have in common. */

import type { Page } from 'playwright-core';
import { confidentialities } from '../../server/domain/documents/documents.ts';
import { dealStates } from '../../web/src/lib/states.ts';
import type { List } from './rows-list.ts';
import { dealPages, deals } from './rows-pages.ts';
import type { Person } from './rows-person.ts';

export interface Filter {
  readonly what: string;
  /** The page's path after the deal's, or the list of deals. */
  readonly page: '/documents' | '/deals';
  readonly list: List;
  /** The name of the tool's input. */
  readonly input: string;
  readonly values: readonly string[];
  readonly choose: (page: Page, value: string) => Promise<unknown>;
}

const documents = dealPages.find(({ path }) => path === '/documents')!.lists[0]!;

export const filters: readonly Filter[] = [
  {
    what: 'deals of a state',
    page: '/deals',
    list: deals,
    input: 'state',
    values: Object.keys(dealStates),
    choose: (page, state) => page.evaluate(`history.replaceState(null, '', '/deals?state=${state}')`),
  },
  {
    what: 'documents of a confidentiality',
    page: '/documents',
    list: documents,
    input: 'confidentiality_level',
    values: confidentialities,
    choose: (page, access) => page.getByLabel('Who may open it').selectOption(access),
  },
  {
    what: 'documents of a category',
    page: '/documents',
    list: documents,
    input: 'category',
    values: ['Site visit', 'tax', 'legal'],
    choose: (page, category) => page.getByLabel('Category').selectOption(category),
  },
];

/** The same person, whose calls have one more input. */
export const asking = (person: Person, input: string, value: string): Person => ({
  ...person,
  rows: (tool, given = { deal_id: person.deal }) => person.rows(tool, { ...given, [input]: value }),
});
