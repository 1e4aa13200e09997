/**
 * Work in a process of its own ends with the service, however the service ends, and has the same result on every host.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../server/database/processes.ts';
import { runInProcess } from '../../server/http/worker-process.ts';
import { archive, workbook } from '../web/workbook.ts';

const root = path.join(import.meta.dirname, '../..');

test.each(['server/web/api/reports/report-writer.ts', 'server/web/api/books/workbook-reader.ts'])(
  '%s ends when the service is killed, even in the middle of endless work',
  async (program) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-worker-process-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const [preloaded, begun, held] = ['endless.mjs', 'begun', 'held'].map((name) => path.join(directory, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(
      preloaded,
      `import { renameSync, writeFileSync } from 'node:fs';
const on = process.on.bind(process);
const endless = () => {
  writeFileSync('${begun}.new', String(process.pid));
  renameSync('${begun}.new', '${begun}');
  for (;;);
};
process.on = process.once = (event, listener) => on(event, event === 'message' ? endless : listener);
`,
    );
    await writeFile(held, `#!/bin/sh\nexec '${process.execPath}' --import '${preloaded}' "$@"\n`, { mode: 0o755 });
    const parent = `import { runInProcess } from ${JSON.stringify(path.join(root, 'server/http/worker-process.ts'))};
process.execPath = ${JSON.stringify(held)};
const most = { heapMegabytes: 64, millis: 600_000 };
await runInProcess(${JSON.stringify(path.join(root, program))}, most, 'work', () => new Error('late'), new AbortController().signal);`;
    const service = spawn(process.execPath, ['--input-type=module', '-e', parent], { stdio: 'inherit' });
    const ended = once(service, 'exit');
    await expect.poll(() => existsSync(begun)).toBe(true);
    const own = Number(await readFile(begun, 'utf8'));
    onTestFinished(() => void (isAlive(own) && process.kill(own, 'SIGKILL')));
    service.kill('SIGKILL');
    await ended;
    await expect.poll(() => isAlive(own)).toBe(false);
  },
);

test('a workbook time without a zone has the same day on a host east of UTC', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-worker-process-'));
  const { execPath } = process;
  onTestFinished(async () => {
    process.execPath = execPath;
    await rm(directory, { recursive: true, force: true });
  });
  // Simulates a host whose time zone a process without TZ would use.
  process.execPath = path.join(directory, 'node');
  const host = `#!/bin/sh\nexport TZ="\${TZ:-Asia/Tokyo}"\nexec '${execPath}' "$@"\n`;
  await writeFile(process.execPath, host, { mode: 0o755 });
  const read = runInProcess(
    path.join(root, 'server/web/api/books/workbook-reader.ts'),
    { heapMegabytes: 256, millis: 120_000 },
    archive(workbook({ Books: [['Month ends'], [{ time: '2025-12-31T00:00:00' }]] })),
    () => new Error('late'),
    new AbortController().signal,
  );
  expect(await read).toEqual({ sheets: [{ name: 'Books', rows: [['Month ends'], ['2025-12-31']] }] });
});
