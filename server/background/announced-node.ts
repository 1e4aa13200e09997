/** Tells the database that this node is running, and which keys of SECRETS_KEY it has. */

import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { forgetNode, noteNode } from '../domain/service/nodes.ts';
import type { CoreServices } from '../services.ts';

/** Milliseconds between two announcements: several in the minute for which one counts. */
const everyMillis = 15_000;
/** Milliseconds that a stop waits for the database. */
const partingMillis = 2_000;

/**
 * Announces the node now, and again and again until the returned function is called, which takes the announcement back.
 * Rejects when the first announcement fails. Workers have the environment of their parent process, which announces for
 * all of them.
 */
export async function announceNode({ database, secrets }: CoreServices): Promise<() => Promise<void>> {
  const id = randomUUID();
  const place = `${os.hostname()}, process ${process.pid}`;
  const announce = () => database.run(noteNode(id, place, secrets.keyIds));
  await announce();
  let last: Promise<unknown> = Promise.resolve();
  let isUnderWay = false;
  const timer = setInterval(() => {
    if (isUnderWay) return;
    isUnderWay = true;
    // While the database is away, others report it.
    last = announce()
      .catch(() => {})
      .finally(() => {
        isUnderWay = false;
      });
  }, everyMillis).unref();
  return async () => {
    clearInterval(timer);
    // One that is under way must not come after the parting.
    const parted = last.then(() => database.run(forgetNode(id))).catch(() => {});
    await Promise.race([parted, pause(partingMillis, undefined, { ref: false })]);
  };
}
