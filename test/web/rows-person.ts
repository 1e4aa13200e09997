/** A person's tools, called through a connected client with a token of its own. */

import { expect } from 'vitest';
import { check, rowsOf } from '../tools/ask.ts';
import { peers } from '../tools/peers.ts';
import { addToken, allow } from '../tools/scene.ts';
import type { RichScene } from './rows-scene.ts';

export interface Person {
  readonly id: string;
  readonly deal: string;
  /** Returns the result of a tool, which must not be an error; the input defaults to the deal's id. */
  call<T>(tool: string, input?: Record<string, unknown>): Promise<T>;
  /** Returns the rows of a tool's result: its first list. */
  rows<R>(tool: string, input?: Record<string, unknown>): Promise<R[]>;
  /**
   * The name of a person whom the tool lists on the deal; null for nobody, and for somebody whom this person does not
   * see there.
   */
  nameOf(userId: string | null): string | null;
  emailOf(userId: string): string | null;
  readonly customerPeriods: readonly string[];
  close(): Promise<void>;
}

/** Connects a client for a caller of the scene; it may call the tools in `writes` on the deal. */
export async function connectPerson(
  web: RichScene,
  caller: string,
  { writes = [] }: { writes?: readonly string[] } = {},
): Promise<Person> {
  const id = web.scene.people[caller]!;
  const { deal } = web.scene;
  const access = await addToken(web.service, id);
  await allow(web.service, access, writes, writes.length > 0 ? [deal] : []);
  const client = await peers['client 2.4.0, auto']!(`${web.service.mcpUrl}/api/mcp`, access.token);
  async function call<T>(tool: string, input: Record<string, unknown> = { deal_id: deal }): Promise<T> {
    const answer = await client.call(tool, input);
    check(tool, answer);
    expect(answer.isError ?? false, answer.content[0]?.text ?? tool).toBe(false);
    return answer.structuredContent as T;
  }
  const { participants } = await call<{ participants: { user_id: string }[] }>('svc_deals_get');
  const known = new Set(participants.map(({ user_id }) => user_id));
  return {
    id,
    deal,
    call,
    rows: async <R>(tool: string, input?: Record<string, unknown>) =>
      rowsOf(tool, await call<Record<string, unknown>>(tool, input)) as R[],
    nameOf: (userId) => (userId !== null && known.has(userId) ? (web.people.get(userId)?.name ?? null) : null),
    emailOf: (userId) => web.people.get(userId)?.email ?? null,
    customerPeriods: web.customerPeriods,
    close: () => client.close(),
  };
}
