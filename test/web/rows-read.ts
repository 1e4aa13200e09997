/** Reads a page as a person does: goes there within the application, and takes down line by line what stands on it. */

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { loaded } from '../browser.ts';

/**
 * The lines of each of these elements, from top to bottom: of a menu what is chosen, of a time or date the exact one that
 * it bears; the state that a button shows and changes, the button that opens a row, no other buttons, no forms, and nothing that is only drawn.
 */
export const linesOf = (rows: Locator): Promise<string[][]> =>
  rows.evaluateAll((elements) => {
    type Element = (typeof elements)[number];
    const textNode = 3;
    const read = (node: Element): string => {
      if (node.nodeType === textNode) return node.data;
      if (
        node.matches?.('button:not([data-status], [data-opens]), form, svg, a[download], [aria-hidden=true]') !== false
      )
        return '';
      const { display } = node.ownerDocument.defaultView.getComputedStyle(node);
      if (display === 'none') return '';
      const chosen: string | undefined = node.selectedOptions?.[0]?.text;
      const exact: string | undefined = node.tagName === 'TIME' ? node.dateTime : undefined;
      const said = chosen ?? exact ?? [...node.childNodes].map(read).join('');
      return display === 'inline' ? said : `\n${said}\n`;
    };
    const tidy = (line: string): string => line.replace(/\s+/g, ' ').trim();
    return elements.map((row: Element) => read(row).split('\n').map(tidy).filter(Boolean));
  });

/** The rows of a list that draws only those in sight, once all of them are there, as many as `counter` says. */
export async function complete(rows: Locator, counter: Locator, attribute: string): Promise<Locator> {
  const missing = async () => {
    const [count] = await counter.evaluateAll((all, name) => all.map((one) => one.getAttribute(name)), attribute);
    return count === undefined ? 0 : Number(count) - (await rows.count());
  };
  await expect.poll(missing).toBe(0);
  return rows;
}

/** Whether a list of the page has more rows than are drawn, those in sight; a list that goes on tells -1. */
export const isCut = (page: Page): Promise<boolean> =>
  page.evaluate(`(() => {
    const isMore = (count, drawn) => Number(count) < 0 || drawn < Number(count);
    const some = (selector, is) => [...document.querySelectorAll(selector)].some(is);
    return some('[aria-rowcount]', (grid) => isMore(grid.ariaRowCount, grid.querySelectorAll('[role=row]').length)) ||
      some('[aria-setsize]', (row) => isMore(row.ariaSetSize, row.parentElement.children.length));
  })()`);

/** The tab of a deal that leads to a path, as far as the person has it. */
export const tabTo = (page: Page, path: string): Locator =>
  page.getByRole('navigation', { name: 'Sections of the deal' }).locator(`a[href="${path}"]`);

/** Goes to a path by its tab, or where there is none by the address, without loading the application anew; whether there is a tab. */
export async function goWithin(page: Page, path: string, title: string): Promise<boolean> {
  const tab = tabTo(page, path);
  const there = (await tab.count()) > 0;
  if (there) await tab.click();
  else await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
  // From the list of deals a deal is not there yet, and its tabs neither.
  const expected = there ? `^${title} · ` : `^(${title}|Not found) · `;
  await expect.poll(() => page.title(), { message: path }).toMatch(new RegExp(expected));
  await loaded(page);
  return (await tab.count()) > 0;
}

/** Whether all that the page says is that there is nothing. */
export const saysNothing = async (page: Page): Promise<boolean> =>
  (await page.getByRole('heading', { name: 'You cannot open this' }).count()) > 0;

/** The rows of a chart, turned into its table; none where the chart is not. */
export async function chartRows(page: Page, name: RegExp): Promise<string[][]> {
  const chart = page.getByRole('figure', { name });
  const turn = chart.getByRole('button', { name: /^Table/ });
  if ((await turn.count()) > 0) await turn.click();
  return linesOf(chart.getByRole('row').filter({ has: page.getByRole('cell') }));
}
