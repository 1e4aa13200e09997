/** Reads a page as a person does: navigates within the application, and returns the visible text line by line. */

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { loaded } from '../browser.ts';

/**
 * The lines of text of each element, from top to bottom. A menu is read as its selected option, and a time as its exact
 * value. Buttons that show a state or open a row are included; other buttons, download links, forms and decoration are
 * left out.
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

/** The rows of a virtualized list, once all of them are drawn; `attribute` of `counter` is their number. */
export async function complete(rows: Locator, counter: Locator, attribute: string): Promise<Locator> {
  const missing = async () => {
    const [count] = await counter.evaluateAll((all, name) => all.map((one) => one.getAttribute(name)), attribute);
    return count === undefined ? 0 : Number(count) - (await rows.count());
  };
  await expect.poll(missing).toBe(0);
  return rows;
}

/**
 * Whether a list of the page has more rows than are drawn, which are those in view; -1 stands for a list with further
 * rows to load.
 */
export const isCut = (page: Page): Promise<boolean> =>
  page.evaluate(`(() => {
    const isMore = (count, drawn) => Number(count) < 0 || drawn < Number(count);
    const some = (selector, is) => [...document.querySelectorAll(selector)].some(is);
    return some('[aria-rowcount]', (grid) => isMore(grid.ariaRowCount, grid.querySelectorAll('[role=row]').length)) ||
      some('[aria-setsize]', (row) => isMore(row.ariaSetSize, row.parentElement.children.length));
  })()`);

/** The tab of a deal that leads to a path; matches nothing when the person does not have it. */
export const tabTo = (page: Page, path: string): Locator =>
  page.getByRole('navigation', { name: 'Sections of the deal' }).locator(`a[href="${path}"]`);

/**
 * Goes to a path by its tab, or without a tab by its address, without loading the application again; returns whether
 * there is a tab.
 */
export async function goWithin(page: Page, path: string, title: string): Promise<boolean> {
  const tab = tabTo(page, path);
  const there = (await tab.count()) > 0;
  if (there) await tab.click();
  else await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
  // Coming from the list of deals, the deal and its tabs are not loaded yet.
  const expected = there ? `^${title} · ` : `^(${title}|Not found) · `;
  await expect.poll(() => page.title(), { message: path }).toMatch(new RegExp(expected));
  await loaded(page);
  return (await tab.count()) > 0;
}

/** Whether the page says only that there is nothing to open. */
export const saysNothing = async (page: Page): Promise<boolean> =>
  (await page.getByRole('heading', { name: 'You cannot open this' }).count()) > 0;

/** The rows of a chart, which is switched to its table; empty without a chart. */
export async function chartRows(page: Page, name: RegExp): Promise<string[][]> {
  const chart = page.getByRole('figure', { name });
  const turn = chart.getByRole('button', { name: /^Table/ });
  if ((await turn.count()) > 0) await turn.click();
  return linesOf(chart.getByRole('row').filter({ has: page.getByRole('cell') }));
}
