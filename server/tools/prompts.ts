/**
 * Questions of the trade as prompts: a host offers them to the person, and each guides the model through the tools that
 * answer it.
 */

import {
  ProtocolError,
  ProtocolErrorCode,
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
} from '@modelcontextprotocol/server';
import type { Config } from '../config/config.ts';
import { dealTitles, mostDeals } from '../domain/deals/deals.ts';
import { isUuid } from '../lib/uuid.ts';
import { catalog } from './catalog/index.ts';
import { svcDealsList } from './catalog/svc_deals_list.ts';
import type { RequestContext } from './request-context.ts';
import { iconsOf } from './identity.ts';
import { shown } from './inputs.ts';
import { readAsTool } from './read-as-tool.ts';

/** One call of a tool, and what to look for in its answer. */
interface Step {
  readonly tool: string;
  /** In addition to deal_id. */
  readonly input?: Readonly<Record<string, string>>;
  readonly look: string;
}

type Argument = 'deal' | 'since';
type Given = Readonly<Partial<Record<Argument, string>>>;

interface Question {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The arguments that it takes, each with whether it is required. */
  readonly takes: Readonly<Partial<Record<Argument, boolean>>>;
  /** The question, as the person would put it. */
  readonly ask: (deal: string, since: string) => string;
  readonly steps: (since: string) => readonly Step[];
  readonly end: string;
}

const argumentsOf: Readonly<Record<Argument, string>> = {
  deal: 'The deal, by its title or its id.',
  since: 'A day: YYYY-MM-DD, a day of the week such as Monday, or yesterday.',
};

const questions: readonly Question[] = [
  {
    name: 'open_before_closing',
    title: 'What is open before closing?',
    description:
      'Conditions, questions, findings and financing of a deal that are not settled yet, with who and by when.',
    takes: { deal: true },
    ask: (deal) => `What is still open before closing on ${deal}?`,
    steps: () => [
      {
        tool: 'svc_closing_conditions_list',
        look: 'status open or in_progress: overdue first, then by deadline; owner_user_id is named in people',
      },
      {
        tool: 'svc_questions_list',
        look: 'status pending_broker_review, with_seller or answered: the buyer has no response yet',
      },
      { tool: 'svc_findings_list', input: { status: 'open' }, look: 'by severity, critical first, with owner' },
      {
        tool: 'svc_financing_stack_get',
        look: 'sources whose commitment_status is identified, applied or term_sheet, and totals by commitment_status, of several sides each on its own (side_user_id)',
      },
      { tool: 'svc_deals_get', look: 'state, and exclusivity_expires_at where there is exclusivity' },
    ],
    end: 'Answer with one list, the most urgent first: what it is, who it waits for, by when. Say where nothing is open.',
  },
  {
    name: 'compare_offers',
    title: 'Compare the offers',
    description: 'The current offers on a deal side by side: price, cash, conditions, dates, and how each changed.',
    takes: { deal: true },
    ask: (deal) => `Compare the offers on ${deal}.`,
    steps: () => [
      {
        tool: 'svc_offers_list',
        look: 'one column for each offer with is_current or agreed; earlier revisions of the same buyer show how it changed; terms with agreed are accepted and stand, whatever was proposed since, what has declined_at was declined, and other expired ones cannot be accepted any more; summary has multiples, shares of the money and coverage, where the books allow it',
      },
      {
        tool: 'svc_qoe_get',
        look: 'ebitda_bridge, if it is there: what the adjusted_ebitda behind a multiple is made of',
      },
      {
        tool: 'svc_financing_stack_get',
        look: 'how far the financing of each buyer, whose sources have their id as side_user_id, is committed',
      },
    ],
    end: 'Answer with a table: purchase_price, cash_at_close and its share, seller_note, earnout, rollover_equity, financing_contingency, target_close_date, expires_at, terms. Amounts exactly as they stand, never added across currencies. Say below it what sets the offers apart; what an offer leaves open is unknown, not zero.',
  },
  {
    name: 'what_changed',
    title: 'What changed since Monday?',
    description:
      'What is new since a day: offers, questions, answers, documents, books, conditions, findings, and the stage of the deal.',
    takes: { deal: false, since: false },
    ask: (deal, since) => `What changed since ${since} on ${deal}?`,
    steps: (since) => [
      { tool: 'svc_deals_get', look: `updated_at on or after ${since}: state, exclusivity` },
      {
        tool: 'svc_offers_list',
        look: `submitted_at, accepted_at or declined_at on or after ${since}, beside the revision before`,
      },
      {
        tool: 'svc_questions_list',
        look: `asked_at, answered_at or distributed_at on or after ${since}`,
      },
      {
        tool: 'svc_qoe_get',
        look: `latest_adjustments with created_at, snapshots with requested_at and rows of the checklist with completed_at on or after ${since}`,
      },
      { tool: 'svc_documents_list', look: `uploaded_at on or after ${since}` },
      { tool: 'svc_closing_conditions_list', look: `completed_at on or after ${since}, and what has become overdue` },
      { tool: 'svc_findings_list', look: `created_at or updated_at on or after ${since}` },
      { tool: 'svc_financing_stack_get', look: `created_at or updated_at on or after ${since}` },
    ],
    end: 'Answer in order of time, the latest first, with people by name. Times are UTC. What the tools do not date cannot be said to be new.',
  },
];

const byName = new Map(questions.map((question) => [question.name, question]));

/**
 * The steps whose tools are available: a tool that is turned off is not mentioned. Every token can read, so no others
 * are missing.
 */
function stepsOf(question: Question, since: string, features: Config['features']): readonly Step[] {
  return question.steps(since).filter(({ tool }) => {
    const found = catalog.find(({ name }) => name === tool);
    return found !== undefined && (found.feature === undefined || features[found.feature]);
  });
}

/** All prompts that have at least one available step. */
export function listPrompts({ baseUrl, features }: Config): Prompt[] {
  return questions
    .filter((question) => stepsOf(question, '', features).length > 0)
    .map(({ name, title, description, takes }) => ({
      name,
      title,
      description,
      arguments: (Object.entries(takes) as [Argument, boolean][]).map(([argument, required]) => ({
        name: argument,
        description: argumentsOf[argument],
        required,
      })),
      icons: iconsOf(baseUrl),
    }));
}

const invalid = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

function questionCalled(name: string): Question {
  const question = byName.get(name);
  if (!question) throw invalid(`Unknown prompt: ${shown(name)}. The prompts are ${[...byName.keys()].join(', ')}.`);
  return question;
}

const longest = 200;

/** The arguments that were sent. Throws a ProtocolError that says what to send. */
function argumentsIn({ name, takes }: Question, sent: Readonly<Record<string, unknown>>): Given {
  const given: Partial<Record<Argument, string>> = {};
  for (const [argument, value] of Object.entries(sent)) {
    if (!Object.hasOwn(takes, argument))
      throw invalid(`${name} has no argument ${shown(argument)}: it takes ${Object.keys(takes).join(', ')}.`);
    if (typeof value !== 'string' || value.length > longest)
      throw invalid(`${argument} of ${name} must be text of at most ${longest} characters.`);
    if (value.trim() !== '') given[argument as Argument] = value.trim();
  }
  for (const [argument, required] of Object.entries(takes) as [Argument, boolean][])
    if (required && given[argument] === undefined)
      throw invalid(`${name} needs the argument ${argument}. ${argumentsOf[argument]}`);
  return given;
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const dayBefore = (now: Date, days: number): string =>
  new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10);

/**
 * The day that is meant, in UTC, as YYYY-MM-DD: the latest such weekday up to today, or before today with "last". Words
 * that name no day are returned unchanged.
 */
function dayOf(words: string, now: Date): string {
  const word = words.toLowerCase();
  if (word === 'today') return dayBefore(now, 0);
  if (word === 'yesterday') return dayBefore(now, 1);
  const name = word.replace(/^last /, '');
  const day = weekdays.indexOf(name);
  if (day < 0) return words;
  const ago = (now.getUTCDay() - day + 7) % 7;
  return dayBefore(now, ago === 0 && name !== word ? 7 : ago);
}

/** A prompt with its arguments filled in. Throws a ProtocolError that says what to send. */
export function getPrompt(
  { config, clock }: RequestContext['services'],
  name: string,
  sent: Readonly<Record<string, unknown>>,
): GetPromptResult {
  const question = questionCalled(name);
  const { deal, since = 'Monday' } = argumentsIn(question, sent);
  const now = clock();
  const day = dayOf(since, now);
  const dealId = deal !== undefined && isUuid(deal) ? deal.toLowerCase() : null;
  // Text that a person typed is quoted, as JSON strings are.
  const called =
    deal === undefined
      ? 'each of my deals'
      : dealId === null
        ? `the deal ${JSON.stringify(deal)}`
        : `the deal ${dealId}`;
  const from = /^\d{4}-\d\d-\d\d$/.test(day) ? day : JSON.stringify(day);
  const finding =
    dealId === null
      ? [
          deal === undefined
            ? `svc_deals_list {}: the deals that are not closed or withdrawn, and those with closed_at or updated_at on or after ${from}; then the following for each; ask me before going through more than five`
            : `svc_deals_list {}: the deal_id is the id of the deal whose title is ${JSON.stringify(deal)}; if several could be meant, ask me which; if none, ask me for its id, which is in the address of its page: where there are more than ${mostDeals} deals, it lists only the newest`,
        ]
      : [];
  const steps = stepsOf(question, from, config.features).map(
    ({ tool, input, look }) => `${tool} ${JSON.stringify({ deal_id: dealId ?? '<deal_id>', ...input })}: ${look}`,
  );
  const text = [
    `${question.ask(called, from)} Today is ${dayBefore(now, 0)} (UTC).`,
    '',
    'Use these Dealkeep tools:',
    ...[...finding, ...steps].map((line, at) => `${at + 1}. ${line}.`),
    '',
    `${question.end} Link to the url of the answers you used. An empty list means that there is nothing, or nothing that I may see: do not tell the two apart.`,
  ].join('\n');
  return { description: question.title, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

/** Maximum number of values in one completion, as the protocol defines it. */
const mostValues = 100;

const completed = (values: string[], total = values.length): CompleteResult => ({
  completion: { values, total, hasMore: total > values.length },
});

/**
 * Completions of a prompt's argument: titles of the caller's deals that contain the typed text, or days that begin with
 * it. Resource templates have no completions.
 */
export async function completeArgument(
  context: RequestContext,
  ref: Readonly<{ type: string; name?: string }>,
  { name, value }: Readonly<{ name: string; value: string }>,
): Promise<CompleteResult> {
  if (ref.type !== 'ref/prompt') return completed([]);
  const { takes } = questionCalled(String(ref.name));
  const typed = value.trim();
  if (!Object.hasOwn(takes, name) || typed.length > longest) return completed([]);
  if (name === 'since') {
    const now = context.services.clock();
    const week = Array.from({ length: 7 }, (_, days) => dayBefore(now, days));
    const words = weekdays.map((day) => `${day.charAt(0).toUpperCase()}${day.slice(1)}`);
    const beginning = typed.toLowerCase();
    return completed(['yesterday', ...words, ...week].filter((day) => day.toLowerCase().startsWith(beginning)));
  }
  const statement = dealTitles(typed, mostValues);
  const { titles, total } = await readAsTool(context, svcDealsList, { dealId: null, subjectId: null }, statement);
  return completed(titles, total);
}
