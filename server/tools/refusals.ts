/** Why a call fails, and the answer to the model (specification, section 7.2; docs/tools.md, "Refusals"). */

import { gateReasons, type GateReason } from '../domain/clients/tool-gate.ts';
import { clientsPath, clientToolsPath, dealToolsPath, securityPath, toolsPath } from '../http/links.ts';
import { problemOf, type Detail } from '../http/problem.ts';
import { linksTo, type Tool } from './define.ts';
import { invalidInput, nobodysId } from './inputs.ts';
import { idempotencyKeyName, ToolRefusal, type RefusalBody } from './results.ts';

export const notInDiligence: RefusalBody = {
  error: 'rls_denied',
  message:
    'Nothing was changed: the user may not write this on the deal. Brokers and sellers of the deal may, and a buyer’s side while its NDA is active. Calling again will not help.',
};

export const notQoeEditor: RefusalBody = {
  error: 'rls_denied',
  message:
    'Nothing was recorded: the user is not an editor of the deal’s QoE workspace. A broker of the deal can make them one. Calling again before that will not help.',
};

export const notAsker: RefusalBody = {
  error: 'submission_rejected',
  message:
    'The question was not submitted: only a buyer’s side of a deal can ask questions. Calling again will not help.',
};

/** The facts about a call that a refusal needs. */
export interface CallFacts {
  readonly tool: Tool;
  readonly dealId: string | null;
  readonly clientId: string | null;
  /** Our public origin. */
  readonly baseUrl: string;
}

const isGateReason = (reason: string): reason is GateReason => (gateReasons as readonly string[]).includes(reason);

/** The page where the person can give the missing permission, or sees who can. */
function resolveUrl(reason: GateReason, { baseUrl, clientId, dealId }: CallFacts): string {
  if (reason === 'missing_deal_opt_in') return baseUrl + (dealId ? dealToolsPath(dealId) : toolsPath);
  return baseUrl + (clientId ? clientToolsPath(clientId) : clientsPath);
}

/**
 * A deal's opt-in can also be missing because one of its brokers turned writing off for everybody, which the user
 * cannot allow.
 */
const atResolveUrl: Readonly<Record<GateReason, string>> = {
  missing_scope:
    'The user disconnects it, as resolve_url says, then connects it again and leaves writing ticked; calling again before that will not help.',
  missing_tool_grant:
    "The user can allow it at resolve_url, and on the deal's page, if writing is not allowed on this deal yet; calling again before that will not help.",
  missing_deal_opt_in:
    'The user sees at resolve_url what is missing and who can allow it; calling again before that will not help.',
};

/**
 * The other reason why a record's deal has no opt-in. The same words for a record that is hidden, missing or on a deal
 * without an opt-in.
 */
const orOtherId = (source: string): string =>
  ` Or the id is not that of a record that the user can see: ids come from ${source}.`;

function permissionDenied(reason: GateReason, message: string, facts: CallFacts): RefusalBody {
  const { tool, dealId } = facts;
  const idsFrom = reason === 'missing_deal_opt_in' && !dealId ? tool.idsFrom : null;
  return {
    error: 'permission_denied',
    message: `${message} Nothing was changed. ${atResolveUrl[reason]}${idsFrom ? orOtherId(idsFrom) : ''}`,
    reason,
    tool: tool.name,
    ...(dealId ? { deal_id: dealId } : {}),
    ...(reason === 'missing_scope' ? { required_scope: tool.scope } : {}),
    resolve_url: resolveUrl(reason, facts),
  };
}

function secondFactorRequired(message: string, { tool, baseUrl }: CallFacts): RefusalBody {
  return {
    error: 'second_factor_required',
    message: `${message} Nothing was done. The user sets one up at resolve_url; calling again before that will not help.`,
    tool: tool.name,
    resolve_url: `${baseUrl}${securityPath}`,
  };
}

/** The answer when the token lacks the scope of a tool, whatever the input. */
export const missingScope = (facts: CallFacts): RefusalBody =>
  permissionDenied(
    'missing_scope',
    `This client was authorized for mcp:read only: this tool needs ${facts.tool.scope}.`,
    facts,
  );

/** The answer when the tool's feature is turned off. */
export function featureNotAvailable(tool: Tool): RefusalBody {
  const message = `${tool.name} is not available on this server: its ${tool.feature} feature is turned off. Nothing was done, and calling again will not help; the operator of the service can turn it on.`;
  return { error: 'feature_not_available', message };
}

/** Next steps for refusals of the database that do not name one: their messages are written for people at a page. */
const nextSteps: Readonly<Record<string, string>> = {
  not_a_buyer: 'Somebody on a buyer’s side can ask it; calling again will not help.',
  deal_over: 'svc_questions_list has earlier questions; calling again will not help.',
  deal_closed: 'Its records can still be read; calling again will not help.',
  deal_full: 'Nothing was added: change an existing record instead.',
};

/** What to do about a move that the database refused, where its message names none that is possible. */
const nextStepOf = (code: string, message: string): string | undefined =>
  code === 'move_not_allowed' && message.startsWith('A financing source ') && message.endsWith('it can go to: nothing.')
    ? 'Add a new source instead.'
    : nextSteps[code];

/**
 * What `error`, thrown during a call, means to the model. Null for an unknown error, nothing of which may be in the
 * answer.
 */
export function refusalOf(error: unknown, facts: CallFacts): RefusalBody | null {
  if (error instanceof ToolRefusal) return error.body;
  const problem = problemOf(error);
  if (problem === null) return null;
  // The database's own message: that of a problem is worded for a person at a page.
  const { message } = error as Error;
  const { code, details } = problem;
  if (isGateReason(code)) return permissionDenied(code, message, facts);
  switch (code) {
    case 'second_factor_required':
      return secondFactorRequired(message, facts);
    case 'owner_takes_no_part':
      return invalidInput([nobodysId('owner_user_id')]);
    case 'owner_cannot_open_finding':
      return invalidInput([{ ...nobodysId('owner_user_id'), message }]);
    case 'denied':
      return facts.tool.denied ?? null;
    case 'validation_error':
      return {
        error: code,
        message: `Nothing was done, because the input is not valid. ${message} Correct it and call again.`,
        details: (details as readonly Detail[]).map((detail) => ({ ...detail, allowed: 'as the input schema says' })),
      };
    case 'idempotency_key_reused':
      return invalidInput([
        { path: `_meta.${idempotencyKeyName}`, message, allowed: 'a new key, or that of a call with the same input' },
      ]);
    case 'storage_full':
      return { error: 'busy', message: problem.message };
    case 'busy':
      return { error: code, message: `Nothing was done. ${message}` };
    case 'unavailable': {
      if (facts.tool.scope === 'mcp:read') return { error: code, message };
      const doubt = 'It may have been written: check before calling again.';
      return { error: code, message: `${message} ${doubt}`, ...linksTo(facts.tool.page, facts.dealId, facts.baseUrl) };
    }
    default: {
      const step = nextStepOf(code, message);
      return { error: 'submission_rejected', message: step ? `${message} ${step}` : message };
    }
  }
}

/** The answer to an internal error: only where to find it in the log. */
export function internalError(requestId: string): RefusalBody {
  return {
    error: 'internal_error',
    message: `Something went wrong on our side, and nothing was changed. Try again once; if it fails again, tell the user the request id ${requestId}, under which the operator finds it in the log.`,
  };
}
