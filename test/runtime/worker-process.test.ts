/** Work that is done in a process of its own ends with the service, however that ends. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../server/database/processes.ts';

const root = path.join(import.meta.dirname, '../..');

test.each(['server/web/api/reports/report-writer.ts', 'server/web/api/books/workbook-reader.ts'])(
  '%s ends when the service was killed, also where its work never ends',
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
