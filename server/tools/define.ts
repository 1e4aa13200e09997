/** A tool is one record: what the model reads of it, what it takes and answers, and the statements that do its work. */

import type { ResourceLink, Tool as ListedTool } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Results } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { Origin } from '../domain/audit/audited.ts';
import type { Scope } from '../domain/clients/connected-clients.ts';
import type { EnteringRead, TokenCaller } from '../domain/clients/tokens.ts';
import { dealPagePath, dealsPath, type DealPage } from '../http/links.ts';
import { hintOf, knownOf, type Filter, type Hint } from './filters.ts';
import { inputFaults, invalidInput, leniently } from './inputs.ts';
import { callerOnDeal, withPeople } from './people.ts';
import { linked } from './records.ts';
import { ToolRefusal, type RefusalBody } from './results.ts';
import type { ViewName } from './views.ts';
import { inputSchema, outputSchema } from './schemas.ts';

/** What a tool does to the world, for hosts that decide whether to let it run without asking. All four are always said. */
interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Looks at the caller's deals and changes nothing. */
export const reads: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Adds a record; doing it twice adds two. */
export const adds: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};
/** Replaces what was there; doing it twice is doing it once. */
export const replaces: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
};

/** Statements, or what the statement that enters answers in their place. */
type AnyWork = readonly Statement<unknown>[] | EnteringRead<readonly unknown[]>;

/** What the work finds. */
type Found<Work extends AnyWork> =
  Work extends EnteringRead<infer T extends readonly unknown[]>
    ? T
    : Work extends readonly Statement<unknown>[]
      ? Results<Work>
      : never;

interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject, Work extends AnyWork> {
  readonly name: `svc_${string}`;
  readonly title: string;
  /** For the model that chooses among tools: what it answers, when to use it, what comes back, what an empty result means. */
  readonly description: string;
  readonly scope: Scope;
  /** The operator's switch without which the tool is not available. */
  readonly feature?: keyof Config['features'];
  readonly annotations: Annotations;
  readonly input: Input;
  readonly output: Output;
  /** Of a writing tool: refuses, in front of the work, what the caller has not allowed. */
  readonly gate?: (tool: string, input: z.output<Input>) => Statement<unknown>;
  /** Of a writing tool: the answer when row-level security does not let the caller write. */
  readonly denied?: RefusalBody;
  /** What is sent to the database, in one transaction with the credential in front of it. `origin` is for what leaves a record. */
  readonly work: (input: z.output<Input>, origin: Origin) => Work;
  /** Of a tool that reads: its work by the statement that enters, in place of `work`; null: it left no record, and `work` has to be done after all. */
  readonly enteringRead?: (input: z.output<Input>) => EnteringRead<Found<Work> | null>;
  /** Of a tool that reads: the filters among its inputs whose values are words of the service, not of a schema. */
  readonly filters?: (input: z.output<Input>) => readonly Filter[];
  /** What an answer says beside what was asked for of an input that led to little, where the filters say nothing. */
  readonly hint?: (input: z.output<Input>, ...found: Found<Work>) => Hint | null;
  /** The result. A writing statement that wrote nothing has been refused before this; null would be a fault of ours. */
  readonly answer: (...found: Found<Work>) => z.input<Output> | null;
  /** Whether an answer about the deal names the caller, with their role on it. */
  readonly namesCaller?: boolean;
  /** The page that shows a result: the pipeline, or a page of a deal. */
  readonly page: DealPage | 'deals';
  /** The deal of that page, where the input does not name it. */
  readonly dealOf?: (...found: Found<Work>) => string | null | undefined;
  /** Of a tool that reads: links to the resources that a result names. */
  readonly links?: (input: z.output<Input>, ...found: Found<Work>) => readonly ResourceLink[];
  /** The view that hosts with MCP Apps show of a result. */
  readonly view?: ViewName;
}

/** What one call of a tool will do. */
export interface Plan {
  /** The input as it was understood. */
  readonly said: unknown;
  readonly gate: Statement<unknown> | null;
  readonly work: readonly Statement<unknown>[];
  /** As in {@link ToolDefinition}. */
  readonly enteringRead: EnteringRead<readonly unknown[] | null> | null;
  readonly answer: (found: readonly unknown[], caller: TokenCaller | null) => Record<string, unknown> | null;
  readonly links: (found: readonly unknown[]) => readonly ResourceLink[];
}

export interface Tool {
  readonly name: string;
  readonly scope: Scope;
  readonly feature: keyof Config['features'] | undefined;
  readonly denied: RefusalBody | undefined;
  readonly page: DealPage | 'deals';
  /** As tools/list shows it. */
  readonly listed: ListedTool;
  readonly output: z.ZodObject;
  readonly view: ViewName | undefined;
  /** Whether its results link to resources. */
  readonly hasLinks: boolean;
  /** Throws a {@link ToolRefusal} that names every fault of the input. `baseUrl`: our public origin, for the links of the answer. */
  plan(input: unknown, origin: Origin, baseUrl: string): Plan;
}

/** Whether an answer holds anything: an empty one gets no links and names nobody. */
const hasContent = (answer: Readonly<Record<string, unknown>>): boolean =>
  Object.values(answer).some((value) => (Array.isArray(value) ? value.length > 0 : value !== null));

/** Where an answer is shown. The pipeline leads to the page of each deal by a pattern: 200 addresses would be 9,000 tokens. */
export function linksTo(page: DealPage | 'deals', dealId: unknown, baseUrl: string): Record<string, string> {
  if (page === 'deals') return { url: baseUrl + dealsPath, deal_url: baseUrl + dealPagePath('deal', '{id}') };
  return typeof dealId === 'string' ? { url: baseUrl + dealPagePath(page, dealId) } : {};
}

/** The tool of a definition, with its schemas converted once. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, const Work extends AnyWork>(
  definition: ToolDefinition<Input, Output, Work>,
): Tool {
  const {
    name,
    title,
    description,
    annotations,
    input: schema,
    gate,
    work,
    enteringRead,
    answer,
    filters,
    hint: hintFor,
    page,
    dealOf,
    links,
    namesCaller = false,
  } = definition;
  // Written when they are first asked for: to convert them all takes longer than all else that a tool does at the start.
  let takes: ListedTool['inputSchema'] | undefined;
  let answers: ListedTool['outputSchema'];
  const isReading = definition.scope === 'mcp:read';
  const isNamed = 'people' in definition.output.shape || 'caller' in definition.output.shape;
  return {
    name,
    scope: definition.scope,
    feature: definition.feature,
    denied: definition.denied,
    page,
    output: definition.output.extend(linked),
    view: definition.view,
    hasLinks: links !== undefined,
    listed: {
      name,
      title,
      description,
      get inputSchema() {
        return (takes ??= inputSchema(schema) as ListedTool['inputSchema']);
      },
      get outputSchema() {
        return (answers ??= outputSchema(definition.output) as ListedTool['outputSchema']);
      },
      annotations,
    },
    plan(input, origin, baseUrl) {
      const given = leniently(schema, input, isReading);
      const parsed = schema.safeParse(given);
      if (!parsed.success) throw new ToolRefusal(invalidInput(inputFaults(schema, given, parsed.error)));
      const done: AnyWork = work(parsed.data, origin);
      const [statements, whole] = 'enter' in done ? [[], done] : [done, null];
      const asked = filters?.(parsed.data) ?? [];
      const known = asked.flatMap(knownOf);
      const resultsIn = (found: readonly unknown[]) =>
        found.slice(0, found.length - known.length) as unknown as Found<Work>;
      return {
        said: parsed.data,
        gate: gate?.(name, parsed.data) ?? null,
        work: [...statements, ...known],
        enteringRead: enteringRead?.(parsed.data) ?? whole,
        answer: (found, caller) => {
          const results = resultsIn(found);
          const answered = answer(...results);
          if (answered === null) return null;
          const hint =
            hintOf(asked, answered, found.slice(found.length - known.length)) ??
            hintFor?.(parsed.data, ...results) ??
            null;
          const isFound = hasContent(answered);
          const onDeal = namesCaller && isFound && caller ? callerOnDeal(caller) : undefined;
          const named = isNamed ? withPeople(answered, onDeal) : answered;
          const dealId = parsed.data['deal_id'] ?? dealOf?.(...results);
          return {
            ...named,
            ...(hint === null ? {} : { hint }),
            ...(isFound || (hint && !hint.known) ? linksTo(page, dealId, baseUrl) : {}),
          };
        },
        links: (found) => links?.(parsed.data, ...resultsIn(found)) ?? [],
      };
    },
  };
}
