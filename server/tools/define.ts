/**
 * The definition of a tool: its description for the model, its input and output, and the statements that do its work.
 */

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

/** A tool's effects, for hosts that decide whether to run it without asking. All four hints are always given. */
interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Annotations of a tool that reads the caller's deals and changes nothing. */
export const reads: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Annotations of a tool that adds a record; calling it twice adds two. */
export const adds: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};
/** Annotations of a tool that replaces a value; calling it twice has the same effect as calling it once. */
export const replaces: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
};

/** Statements, or the read that the entering statement does in place of them. */
type AnyWork = readonly Statement<unknown>[] | EnteringRead<readonly unknown[]>;

type Found<Work extends AnyWork> =
  Work extends EnteringRead<infer T extends readonly unknown[]>
    ? T
    : Work extends readonly Statement<unknown>[]
      ? Results<Work>
      : never;

interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject, Work extends AnyWork> {
  readonly name: `svc_${string}`;
  readonly title: string;
  /**
   * For the model that chooses among tools: what the tool answers, when to use it, its result, and what an empty result
   * means.
   */
  readonly description: string;
  readonly scope: Scope;
  /** The operator's feature switch that the tool needs. */
  readonly feature?: keyof Config['features'];
  readonly annotations: Annotations;
  readonly input: Input;
  readonly output: Output;
  /** Only for writing tools: runs before the work and rejects calls that the caller has not allowed. */
  readonly gate?: (tool: string, input: z.output<Input>) => Statement<unknown>;
  /** Only for writing tools: the answer when row-level security does not let the caller write. */
  readonly denied?: RefusalBody;
  /**
   * The statements, run in one transaction after the one that enters with the token. `origin` is for statements that
   * leave an audit record.
   */
  readonly work: (input: z.output<Input>, origin: Origin, features: Config['features']) => Work;
  /**
   * Only for reading tools: replaces `work` by a read within the statement that enters with the token. When its result
   * is null, no audit record was left and `work` is done instead.
   */
  readonly enteringRead?: (input: z.output<Input>, features: Config['features']) => EnteringRead<Found<Work> | null>;
  /**
   * Only for reading tools: the inputs that are filters and whose values are defined by the service or its data, not by
   * the schema.
   */
  readonly filters?: (input: z.output<Input>) => readonly Filter[];
  /** A hint added to the answer when the input found little; the hint of the filters takes precedence. */
  readonly hint?: (input: z.output<Input>, ...found: Found<Work>) => Hint | null;
  /**
   * Only for reading tools: the records of the list, and in which capacities nobody is ever shown them, as on the pages:
   * to these callers an empty list would look as if there were none.
   */
  readonly unseen?: Unseen;
  /**
   * The result. A writing statement that wrote nothing has been rejected before this; null is treated as an internal
   * error.
   */
  readonly answer: (...found: Found<Work>) => z.input<Output> | null;
  /** Whether an answer about a deal names the caller and their role on it. */
  readonly namesCaller?: boolean;
  /** The page of the web application that shows the result: the pipeline, or a page of a deal. */
  readonly page: DealPage | 'deals';
  /** The deal of that page, when the input does not name it. */
  readonly dealOf?: (...found: Found<Work>) => string | null | undefined;
  /** Only for reading tools: links to the resources that a result names. */
  readonly links?: (input: z.output<Input>, ...found: Found<Work>) => readonly ResourceLink[];
  /** The view of a result, for hosts with MCP Apps. */
  readonly view?: ViewName;
}

/** The work of one call of a tool. */
export interface Plan {
  /** The parsed input. */
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
  /** The tool that gives the id of the record that a call is about; null where a call names a deal. */
  readonly idsFrom: string | null;
  /** The entry in tools/list. */
  readonly listed: ListedTool;
  readonly output: z.ZodObject;
  readonly view: ViewName | undefined;
  /** Whether the tool's results link to resources. */
  readonly hasLinks: boolean;
  /**
   * Throws a {@link ToolRefusal} that lists all errors of the input. `baseUrl` is our public origin, for the links of
   * the answer.
   */
  plan(input: unknown, origin: Origin, config: Pick<Config, 'baseUrl' | 'features'>): Plan;
}

interface Unseen {
  readonly things: string;
  readonly by: readonly (keyof typeof capacities)[];
}

/** Capacities in which people see a deal but not all kinds of its records, and what somebody in them is. */
const capacities = {
  viewer: 'a viewer of this deal',
  admin: 'an admin of the brokerage and not on this deal',
} as const;

/** The hint beside a list of `unseen` records that is empty whatever there is. */
function unseenHint({ things, by }: Unseen, side: string | null): Hint | null {
  const who = by.find((one) => one === side);
  if (who === undefined) return null;
  return {
    message: `The user is ${capacities[who]}, who is not shown its ${things}: there may be some.`,
  };
}

/** Whether an answer has content: an empty one gets no links and names nobody. */
const hasContent = (answer: Readonly<Record<string, unknown>>): boolean =>
  Object.values(answer).some((value) => (Array.isArray(value) ? value.length > 0 : value !== null));

/**
 * The URL at which an answer is shown. The pipeline adds a URL pattern for the deals' pages: 200 URLs would be 9,000
 * tokens.
 */
export function linksTo(page: DealPage | 'deals', dealId: unknown, baseUrl: string): Record<string, string> {
  if (page === 'deals') return { url: baseUrl + dealsPath, deal_url: baseUrl + dealPagePath('deal', '{id}') };
  return typeof dealId === 'string' ? { url: baseUrl + dealPagePath(page, dealId) } : {};
}

/** The tool whose results have the ids that a tool takes, where these are of records other than deals. */
const idsFrom = ({ shape }: z.ZodObject): string | null =>
  'finding_id' in shape ? 'svc_findings_list' : 'source_id' in shape ? 'svc_financing_stack_get' : null;

/** Makes a tool from a definition; its schemas are converted once. */
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
    unseen,
    page,
    dealOf,
    links,
    namesCaller = false,
  } = definition;
  // Converted on first use: converting all schemas takes longer than everything else the tools do at startup.
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
    idsFrom: idsFrom(schema),
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
    plan(input, origin, { baseUrl, features }) {
      const given = leniently(schema, input, isReading);
      const parsed = schema.safeParse(given);
      if (!parsed.success) throw new ToolRefusal(invalidInput(inputFaults(schema, given, parsed.error)));
      const done: AnyWork = work(parsed.data, origin, features);
      const [statements, whole] = 'enter' in done ? [[], done] : [done, null];
      const asked = filters?.(parsed.data) ?? [];
      const known = asked.flatMap(knownOf);
      const resultsIn = (found: readonly unknown[]) =>
        found.slice(0, found.length - known.length) as unknown as Found<Work>;
      return {
        said: parsed.data,
        gate: gate?.(name, parsed.data) ?? null,
        work: [...statements, ...known],
        enteringRead: enteringRead?.(parsed.data, features) ?? whole,
        answer: (found, caller) => {
          const results = resultsIn(found);
          const answered = answer(...results);
          if (answered === null) return null;
          const hint =
            hintOf(asked, answered, found.slice(found.length - known.length)) ??
            hintFor?.(parsed.data, ...results) ??
            null;
          const isFound = hasContent(answered);
          const closed = unseen && !isFound && hint === null ? unseenHint(unseen, caller?.deal_side ?? null) : null;
          const onDeal = namesCaller && isFound && caller ? callerOnDeal(caller) : undefined;
          const named = isNamed ? withPeople(answered, onDeal) : answered;
          const dealId = parsed.data['deal_id'] ?? dealOf?.(...results);
          return {
            ...named,
            ...(hint === null ? closed && { hint: closed } : { hint }),
            ...(isFound || (hint && !hint.known) ? linksTo(page, dealId, baseUrl) : {}),
          };
        },
        links: (found) => links?.(parsed.data, ...resultsIn(found)) ?? [],
      };
    },
  };
}
