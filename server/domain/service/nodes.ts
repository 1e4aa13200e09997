/** The running nodes, and the ids of the keys of SECRETS_KEY that each has. */

import type pg from 'pg';
import { row, type Statement } from '../../database/statement.ts';
import { plural } from '../../lib/plural.ts';

const note = row<unknown, [node: string, place: string, keyIds: readonly string[]]>(
  'note_node',
  'select app.note_node($1, $2, $3)',
);
const forget = row<unknown, [node: string]>('forget_node', 'select app.forget_node($1)');

/** Notes that this node is running; `place` tells operators where. It counts as running for a minute. */
export const noteNode = (node: string, place: string, keyIds: readonly string[]): Statement<unknown> =>
  note(node, place, keyIds);

/** Notes that this node is stopping. */
export const forgetNode = (node: string): Statement<unknown> => forget(node);

/** Nodes are running that must be stopped first. The message says what to do. */
class NodesRunning extends Error {
  override readonly name = 'NodesRunning';
}

/** Running nodes lack a key that secrets would be encrypted with. The message says what to do. */
class NodesWithoutKey extends Error {
  override readonly name = 'NodesWithoutKey';
}

/** How many nodes the message names. */
const mostNamed = 10;

const killed = 'A node that was killed counts as running for one more minute.';

/** Names nodes by where they run. */
const named = (nodes: readonly { place: string }[]): string =>
  nodes
    .slice(0, mostNamed)
    .map(({ place }) => place)
    .join('; ') + (nodes.length > mostNamed ? ` and ${nodes.length - mostNamed} more` : '');

/**
 * Rejects with {@link NodesWithoutKey} when a running node lacks this key, and keeps other nodes from starting until the
 * transaction ends; on the owner's connection.
 */
export async function requireKeyOnNodes(client: pg.ClientBase, keyId: string): Promise<void> {
  // A node that starts meanwhile waits here, and then finds the key in use.
  await client.query('lock table vault.nodes in share mode');
  const { rows } = await client.query<{ place: string }>(
    `select n.place from vault.nodes n
     where n.seen_at > app.now() - interval '1 minute' and not $1 = any (n.secrets_keys) order by n.place`,
    [keyId],
  );
  if (rows.length === 0) return;
  throw new NodesWithoutKey(
    `${plural(rows.length, 'running node lacks', 'running nodes lack')} the first key of SECRETS_KEY (${keyId}) and could not continue: ${named(rows)}. Restart every node with that key first. ${killed}`,
  );
}

/**
 * Rejects with {@link NodesRunning} when a node is running, and keeps others from starting until the transaction ends;
 * on the owner's connection.
 */
export async function requireNoNodes(client: pg.ClientBase): Promise<void> {
  // A node that starts meanwhile waits here, and then finds the store that was adopted.
  await client.query('lock table vault.nodes in share mode');
  const { rows } = await client.query<{ place: string }>(
    `select n.place from vault.nodes n where n.seen_at > app.now() - interval '1 minute' order by n.place`,
  );
  if (rows.length === 0) return;
  throw new NodesRunning(
    `${plural(rows.length, 'node is', 'nodes are')} running, and would go on storing documents in the previous place: ${named(rows)}. Stop every node first. ${killed}`,
  );
}
