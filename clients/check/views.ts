/**
 * `npm run clients -- views --host DIR [--shots DIR]`: our views in the basic host of the MCP Apps extension, of which DIR is a checkout
 * (examples/basic-host of modelcontextprotocol/ext-apps): built from a copy, with the real tool server behind it, by keyboard, and without any network but this
 * machine. `--shots` keeps pictures of each view, light, dark and narrow.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Frame, Page } from 'playwright-core';
import { freePort } from '../../bench/free-port.ts';
import { openBrowser, settled, violationsOn } from '../../test/browser.ts';
import { accessToken, type DemoPerson } from '../../test/conformance/person.ts';
import { addToken } from '../../test/conformance/proxy.ts';
import { environmentAt, npmEnvironment } from './environment.ts';

const run = promisify(execFile);

/** The sandbox of the basic host is at this port: its page says so. */
const sandboxPort = 8081;
const width = { usual: 1000, narrow: 390 } as const;

interface Setup {
  readonly directory: string;
  /** The checkout of the basic host. */
  readonly host: string;
  /** Where pictures go. */
  readonly shots: string | null;
  /** The origin of the service. */
  readonly url: string;
  readonly person: DemoPerson;
  readonly redirectUri: string;
  readonly deal: string;
}

/** Builds a copy of the host, and serves it as it serves itself; its origin. */
async function serveHost({ directory, host }: Setup, server: string) {
  const copy = path.join(directory, 'host');
  await rm(copy, { recursive: true, force: true });
  await cp(host, copy, {
    recursive: true,
    filter: (from) => !/(?:^|\/)(?:node_modules|dist)(?:\/|$)/.test(path.relative(host, from)),
  });
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: copy,
    env: npmEnvironment(),
    maxBuffer: 2 ** 26,
  });
  for (const INPUT of ['index.html', 'sandbox.html'])
    await run('npx', ['vite', 'build'], { cwd: copy, env: environmentAt(copy, { INPUT }), maxBuffer: 2 ** 26 });
  const port = await freePort();
  const child = spawn(process.execPath, ['serve.ts'], {
    cwd: copy,
    env: environmentAt(copy, {
      HOST_PORT: String(port),
      SANDBOX_PORT: String(sandboxPort),
      SERVERS: JSON.stringify([server]),
    }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('The host ended.'))),
  ]);
  return { origin: `http://localhost:${port}`, close: () => void child.kill('SIGTERM') };
}

/** A page of a browser that reaches this machine alone; what it asked for beyond, and what scripts complained of. */
async function openPage(browser: Browser): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    viewport: { width: width.usual, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
  });
  const complaints: string[] = [];
  await context.route('**/*', (route) => {
    const { hostname } = new URL(route.request().url());
    if (hostname === 'localhost' || hostname === '127.0.0.1') return route.continue();
    complaints.push(`asked for ${route.request().url()}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // Clients of 2025 ask for a stream of messages, and are told that there is none.
    const isStream = message.location().url.endsWith('/api/mcp') && message.text().includes('405');
    if (message.type() === 'error' && !isStream && !message.location().url.endsWith('/favicon.ico'))
      complaints.push(message.text());
  });
  return { page, complaints };
}

/** Presses Tab until `found`; fails after many. */
async function tabUntil(page: Page, what: string, found: () => Promise<boolean>): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await found()) return;
    await page.keyboard.press('Tab');
    // The focus goes from frame to frame by messages.
    await page.waitForTimeout(50);
  }
  throw new Error(`The keyboard does not reach ${what}.`);
}

/** Calls a tool in the host by keyboard; the frame of its view, drawn. */
async function callTool(page: Page, origin: string, tool: string, input: object): Promise<Frame> {
  await page.goto(`${origin}/index.html?tool=${tool}`);
  const button = page.getByRole('button', { name: 'Call Tool' });
  await page.locator('select option', { hasText: tool }).first().waitFor({ state: 'attached', timeout: 30_000 });
  const focused = (selector: string) => page.evaluate<boolean>(`document.activeElement?.matches('${selector}')`);
  await tabUntil(page, 'the input', () => focused('textarea'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type(JSON.stringify(input));
  await tabUntil(page, 'the button', () => focused('button[type=submit]'));
  await button.waitFor();
  await page.keyboard.press('Enter');
  await page.frameLocator('iframe').frameLocator('iframe').getByRole('button', { name: 'Open in Dealkeep' }).waitFor();
  const frame = page.frames().at(-1);
  if (!frame) throw new Error('There is no view.');
  await frame.evaluate(settled);
  return frame;
}

/** What is wrong with a view: by axe, wider than its frame, or longer. */
async function faultsIn(frame: Frame): Promise<string[]> {
  const faults = await violationsOn(frame);
  const over = await frame.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  if (over > 0) faults.push(`${over} pixels wider than its frame`);
  return faults;
}

async function check(
  page: Page,
  { deal, shots }: Setup,
  origin: string,
  { tool, view }: { tool: string; view: string },
): Promise<string> {
  await page.setViewportSize({ width: width.usual, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  const frame = await callTool(page, origin, tool, { deal_id: deal });
  const keep = async (look: string) => {
    await frame.evaluate(settled);
    // The host grows the frame over a third of a second.
    await page.waitForTimeout(500);
    if (shots) await page.locator('iframe').screenshot({ path: path.join(shots, `${view}-${look}.png`) });
    return (await faultsIn(frame)).map((fault) => `${look}: ${fault}`);
  };
  const faults = await keep('light');
  await page.emulateMedia({ colorScheme: 'dark' });
  faults.push(...(await keep('dark')));
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: width.narrow, height: 844 });
  faults.push(...(await keep('narrow')));
  // From the beginning of the host into the view, and to its last control.
  let stops = 0;
  const opener = `document.hasFocus() && document.activeElement?.textContent.includes('Open in Dealkeep')`;
  await tabUntil(page, '“Open in Dealkeep”', async () => {
    stops += 1;
    return frame.evaluate<boolean>(opener);
  });
  const opened = page.context().waitForEvent('page', { timeout: 10_000 });
  await page.keyboard.press('Enter');
  const there = await opened;
  const reached = there.url();
  await there.close();
  if (!reached.includes(deal)) faults.push(`it opens ${reached}`);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return `axe clean light, dark, narrow; ${stops} presses of Tab to “Open in Dealkeep”, which opens the page`;
}

/** Shows every view in the host; a row for each. */
export async function checkViews(setup: Setup): Promise<{ line: string[]; isGood: boolean }[]> {
  const token = await accessToken(setup.url, setup.person, setup.redirectUri);
  const proxy = await addToken(setup.url, token);
  if (setup.shots) await mkdir(setup.shots, { recursive: true });
  const asked = await fetch(proxy.url('/api/mcp'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const { result } = (await asked.json()) as {
    result: { tools: { name: string; _meta?: { ui?: { resourceUri?: string } } }[] };
  };
  const views = result.tools.flatMap(({ name, ...tool }) => {
    const uri = tool['_meta']?.ui?.resourceUri;
    return uri === undefined ? [] : [{ tool: name, view: uri.replace(/.*\//, '') }];
  });
  const host = await serveHost(setup, proxy.url('/api/mcp'));
  const browser = await openBrowser();
  try {
    const rows = [];
    for (const view of views) {
      const { page, complaints } = await openPage(browser);
      const outcome = await check(page, setup, host.origin, view).then(
        (text) => ({ isGood: complaints.length === 0, text: complaints.join('\n') || text }),
        (error: unknown) => ({ isGood: false, text: [String(error), ...complaints].join('\n').slice(0, 1_500) }),
      );
      await page.context().close();
      if (!outcome.isGood) process.stdout.write(`${view.view}: ${outcome.text}\n`);
      rows.push({
        line: [view.view, view.tool, outcome.isGood ? 'good' : 'BAD', outcome.isGood ? outcome.text : 'see above'],
        isGood: outcome.isGood,
      });
    }
    return rows;
  } finally {
    await browser.close();
    host.close();
    proxy.close();
  }
}
