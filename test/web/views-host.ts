/**
 * A host of MCP Apps in a browser, built on the extension's AppBridge like its basic host: the view runs in a frame
 * inside the sandbox's frame, which has another origin and the policy that the extension requires of hosts. There is no
 * network.
 */

import type { Browser, FrameLocator, Page } from 'playwright-core';
import { build } from 'vite';
import { expect } from 'vitest';

const bridge = 'virtual:bridge';

/** The classes of the extension that a host needs, bundled as one script that assigns them to `Apps`. */
async function bridgeScript(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    root: import.meta.dirname,
    publicDir: false,
    plugins: [
      {
        name: 'bridge',
        resolveId: (id) => (id === bridge ? id : undefined),
        load: (id) =>
          id === bridge
            ? `import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
               globalThis.Apps = { AppBridge, PostMessageTransport };`
            : undefined,
      },
    ],
    build: { write: false, minify: false, rolldownOptions: { input: bridge, output: { format: 'iife' } } },
  });
  const [output] = [built].flat();
  if (!output || !('output' in output)) throw new Error('The bridge was not built.');
  return output.output[0].code;
}

/**
 * The policy that the extension requires for the frame of a view that names no domains; the sandbox frames the view
 * itself.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'none'",
  "frame-src 'self'",
].join('; ');

const sandbox = `<!doctype html><style>html, body, iframe { margin: 0; height: 100%; width: 100%; border: 0; display: block }</style>
<script>
  const inner = document.createElement('iframe');
  inner.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms');
  document.documentElement.append(inner);
  addEventListener('message', ({ source, data }) => {
    if (source === inner.contentWindow) parent.postMessage(data, 'http://host.test');
    else if (data.method === 'ui/notifications/sandbox-resource-ready') {
      inner.contentDocument.open();
      inner.contentDocument.write(data.params.html);
      inner.contentDocument.close();
    } else inner.contentWindow.postMessage(data, '*');
  });
  parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, 'http://host.test');
</script>`;

const host = `<!doctype html><html lang="en"><title>Host</title>
<style>body { margin: 0 } iframe { border: 0; width: 100%; height: 100px; display: block }</style>
<body><script src="/bridge.js"></script>
<script>
  window.heard = { links: [], heights: [], faults: [] };
  window.show = async ({ html, input, result, context }) => {
    await window.bridge?.close();
    document.querySelector('iframe')?.remove();
    const frame = document.createElement('iframe');
    frame.title = 'View';
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms');
    const made = new Apps.AppBridge(null, { name: 'host', version: '1' }, { openLinks: {} }, { hostContext: context });
    window.bridge = made;
    made.onerror = (error) => heard.faults.push(String(error));
    made.onopenlink = async ({ url }) => { heard.links.push(url); return {}; };
    made.onsizechange = ({ height }) => {
      heard.heights.push(height);
      if (height !== undefined) frame.style.height = height + 'px';
    };
    const ready = new Promise((resolve) => { made.onsandboxready = resolve; });
    const initialized = new Promise((resolve) => { made.oninitialized = resolve; });
    document.body.append(frame);
    await made.connect(new Apps.PostMessageTransport(frame.contentWindow, frame.contentWindow));
    frame.src = 'http://sandbox.test/';
    await ready;
    await made.sendSandboxResourceReady({ html, csp: {} });
    await initialized;
    await made.sendToolInput({ arguments: input });
    if (result) await made.sendToolResult(result);
  };
</script></body></html>`;

export interface Shown {
  readonly html: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The tool's result; missing while the call is still in progress. */
  readonly result?: unknown;
  readonly context: Readonly<Record<string, unknown>>;
}

export interface Host {
  readonly page: Page;
  /** The view's frame. */
  readonly view: FrameLocator;
  /** All requests to the network, and all errors reported by browser and bridge; must stay empty. */
  readonly complaints: readonly string[];
  show(shown: Shown): Promise<void>;
  /** The frame of the view, to evaluate scripts in. */
  frame(): ReturnType<Page['frames']>[number];
  heard(): Promise<{ links: string[]; heights: number[]; faults: string[] }>;
  /** Changes the context that the host gives to the view. */
  change(context: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

/** Opens a host; close it, or close the whole browser. */
export async function openHost(browser: Browser): Promise<Host> {
  const script = await bridgeScript();
  const context = await browser.newContext({ viewport: { width: 900, height: 800 }, reducedMotion: 'reduce' });
  const complaints: string[] = [];
  await context.route('**/*', (route) => {
    const url = route.request().url();
    const html = { contentType: 'text/html; charset=utf-8' };
    if (url === 'http://host.test/') return route.fulfill({ ...html, body: host });
    if (url === 'http://host.test/bridge.js') return route.fulfill({ contentType: 'text/javascript', body: script });
    if (url === 'http://sandbox.test/')
      return route.fulfill({ ...html, body: sandbox, headers: { 'Content-Security-Policy': policy } });
    complaints.push(`asked for ${url}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000);
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || /Content Security Policy|Refused to/.test(message.text()))
      complaints.push(message.text());
  });
  await page.goto('http://host.test/');
  const frame = () => {
    const found = page.frames().at(-1);
    if (!found) throw new Error('There is no view.');
    return found;
  };
  return {
    page,
    view: page.frameLocator('iframe').frameLocator('iframe'),
    complaints,
    show: (shown) => page.evaluate(`show(${JSON.stringify(shown)})`),
    frame,
    heard: () => page.evaluate('heard'),
    async change(changed) {
      await page.evaluate(`bridge.setHostContext(${JSON.stringify(changed)})`);
      const { theme } = changed;
      if (theme) await expect.poll(() => frame().evaluate('document.documentElement.dataset.theme')).toBe(theme);
    },
    close: () => context.close(),
  };
}
