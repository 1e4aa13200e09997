/** SECRETS_KEY and `dealkeep secrets rotate` through the program. */

import { readFile, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { runningConnections } from '../../server/database/embedded.ts';
import { cleanUp, dealkeep, migratedDataDir, run } from './program.ts';

afterAll(cleanUp);

const [older, newer] = ['o'.repeat(43), 'n'.repeat(43)];

test('secrets are rotated to a first and a second key, not while a node lacks it; nodes without the key do not start or become unready', async () => {
  const env = { DATA_DIR: await migratedDataDir() };
  expect(await run(['secrets', 'rotate'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('SECRETS_KEY is not set'),
  });
  expect(await run(['secrets', 'rotate'], { ...env, SECRETS_KEY: 'short' })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/SECRETS_KEY is not valid; it must be one key or several/),
  });
  const before = await run(['doctor', '--json'], { ...env, SECRETS_KEY: older });
  expect(before.stdout).toContain('Some secrets are not encrypted with the first key of SECRETS_KEY yet.');
  const made = await run(['secrets', 'rotate', '--json'], { ...env, SECRETS_KEY: older });
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const { key } = JSON.parse(made.stdout) as { key: string };

  for (const wrong of ['', newer]) {
    const refused = await run(['serve'], { ...env, SECRETS_KEY: wrong });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`with a key that SECRETS_KEY does not contain (${key})`);
  }
  const examined = await run(['doctor', '--json'], env);
  expect(examined.code).toBe(2);
  expect(examined.stdout).toContain('SECRETS_KEY does not contain');

  // A node that should have been restarted with the new key before the rotation.
  const left = dealkeep(['serve', '--json'], { ...env, SECRETS_KEY: older });
  const { url } = await left.ready;
  expect((await fetch(`${url}readyz`)).status).toBe(200);
  const rotate = () => run(['secrets', 'rotate'], { ...env, SECRETS_KEY: `${newer},${older}` });
  const place = `${os.hostname()}, process ${await left.serverPid()}`;
  const refusedToRotate = {
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(
        `^1 running node lacks the first key of SECRETS_KEY \\([0-9a-f]{8}\\) .*: ${place}\\. Restart every node`,
      ),
    ),
  };
  expect(await rotate()).toMatchObject(refusedToRotate);
  expect((await fetch(`${url}readyz`)).status).toBe(200);

  // One that was not heard of for a minute counts as gone, and may still be there.
  const owner = new pg.Client((await runningConnections(env.DATA_DIR))?.owner);
  await owner.connect();
  onTestFinished(() => owner.end().catch(() => {}));
  owner.on('error', () => {});
  await owner.query(`create function app.note_late() returns trigger language plpgsql as $$
      begin new.seen_at := new.seen_at - interval '1 minute'; return new; end $$;
    create trigger note_late before insert or update on vault.nodes for each row execute function app.note_late();
    update vault.nodes set seen_at = seen_at`);
  expect(await rotate()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\d+ webhook secrets, \d+ remembered answers\)\. The secret of unsubscribe links/),
  });
  await owner.query(`drop trigger note_late on vault.nodes; update vault.nodes set seen_at = app.now()`);
  const unready = await fetch(`${url}readyz`);
  expect([unready.status, await unready.text()]).toEqual([
    503,
    expect.stringMatching(/encrypted with the key [0-9a-f]{8}, which SECRETS_KEY does not contain/),
  ]);
  left.child.kill('SIGTERM');
  await left.ended;
  const program = dealkeep(['serve'], { ...env, SECRETS_KEY: newer });
  const link = path.join(env.DATA_DIR, 'set-up-link');
  // The output goes to a log, which must not contain a link that grants access.
  await expect.poll(() => readFile(link, 'utf8').catch(() => '')).toMatch(/\/set-up#token=[A-Za-z0-9_-]{43}\n$/);
  expect((await stat(link)).mode & 0o777).toBe(0o600);
  await expect.poll(() => stat(path.join(env.DATA_DIR, 'dealkeep.pid')).then(() => true)).toBe(true);
  // The node that was stopped no longer counts, and this one has the key.
  expect(await run(['secrets', 'rotate'], { ...env, SECRETS_KEY: newer })).toMatchObject({ code: 0, stderr: '' });
  program.child.kill('SIGTERM');
  const { stdout, stderr, code } = await program.ended;
  expect(code).toBe(0);
  expect(stdout + stderr).not.toContain('token=');
  expect(stdout).toContain(link);
});
