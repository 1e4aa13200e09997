/** The audit trail in words: what was done, how it ended, and what is said of it besides. The raw names stay in the file that is exported. */
import type { AuditRecord } from '../api/shapes.ts';
import { formatTime } from './format.ts';
import * as states from './states.ts';

type Details = AuditRecord['details'];
type Words = Readonly<Record<string, { readonly label: string } | string>>;

/** A name of ours that has no words of its own, made readable: "deal.move_back" is "Deal move back". */
function readable(name: string): string {
  const text = name.replace(/[._:-]+/g, ' ').trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What a record of ours holds under a name from the trail, and nothing of what every object inherits. */
const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

function wordOf(words: Words, value: unknown): string | null {
  const found = typeof value === 'string' ? own(words, value) : undefined;
  if (found === undefined) return null;
  return typeof found === 'string' ? found : found.label;
}

/** "Move the deal to Listed", where the record says where to. */
const withWord = (start: string, joint: string, name: string, words: Words) => (details: Details) => {
  const word = wordOf(words, details[name]);
  return word === null ? start : `${start}${joint}${word.toLowerCase()}`;
};

const actions: Readonly<Record<string, string | ((details: Details) => string)>> = {
  'session.sign_in': 'Sign in',
  'session.sign_out': 'Sign out',
  'session.sign_out_everywhere': 'Sign out everywhere',
  'session.end': 'End other sessions',
  'password.change': 'Change the password',
  'password.reset_ask': 'Ask for a password link',
  'password.reset': 'Set a new password by link',
  'address.change_ask': 'Ask to change the e-mail address',
  'address.change': 'Change the e-mail address',
  'second_factor.on': 'Set up an authenticator',
  'second_factor.off': 'Remove the authenticator',
  'recovery_codes.renew': 'Make new recovery codes',
  'passkey.add': 'Add a passkey',
  'passkey.rename': 'Rename a passkey',
  'passkey.remove': 'Remove a passkey',
  'user.suspend': 'Suspend the account',
  'user.restore': 'Restore the account',
  'brokerage.set_up': 'Set up the brokerage',
  'brokerage.create': 'Create the brokerage',
  'brokerage.rename': 'Rename the brokerage',
  'member.invite': withWord('Invite a member', ' as ', 'role', states.memberRoles),
  'member.role': withWord('Change a member’s role', ' to ', 'role', states.memberRoles),
  'member.remove': 'Remove a member',
  'member.end_sessions': 'End a member’s sessions',
  'brokerage.second_factor': ({ required }) =>
    required === false ? 'No longer require a second factor' : 'Require a second factor',
  'invitation.accept': 'Accept an invitation',
  'invitation.decline': 'Decline an invitation',
  'contact.create': 'Add a contact',
  'contact.update': 'Change a contact',
  'contact.archive': 'Archive a contact',
  'contact.restore': 'Restore a contact',
  'contact.import': 'Import contacts',
  'api_key.create': 'Create an API key',
  'api_key.rotate': 'Rotate an API key',
  'api_key.revoke': 'Revoke an API key',
  'client.create': 'Register a client',
  'client.change': 'Change a client',
  'client.disable': 'Switch a client off',
  'client.enable': 'Switch a client on',
  'client.share': 'Share a client',
  'client.unshare': 'Stop sharing a client',
  'client.disconnect': 'Disconnect a client',
  'client.delete': 'Delete a client',
  'consent.give': 'Authorize a client',
  'consent.deny': 'Turn a client down',
  'code.replay': 'Use a code of authorization twice',
  'code.burn': 'Use a code of authorization wrongly',
  'tokens.issue': 'Connect a client',
  'tokens.refresh': 'Renew a client’s access',
  'tokens.replay': 'Use a client’s old token again',
  'tokens.revoke': 'End a client’s access',
  'tool_grant.on': 'Allow a tool',
  'tool_grant.off': 'Stop allowing a tool',
  'deal_opt_in.on': 'Let assistants write on the deal',
  'deal_opt_in.off': 'Stop letting assistants write',
  'deal_tools.stop': 'Shut assistants off for everybody',
  'deal_tools.allow': 'Let assistants write again',
  'deal.open': 'Open the deal',
  'deal.edit': 'Edit the deal',
  'deal.move': withWord('Move the deal', ' to ', 'to', states.dealStates),
  'exclusivity.grant': 'Grant exclusivity',
  'exclusivity.extend': 'Change the end of exclusivity',
  'exclusivity.release': 'Release exclusivity',
  'participant.invite': withWord('Invite to the deal', ' as ', 'role', states.participantRoles),
  'participant.remove': 'Remove from the deal',
  'deal.hand_over': 'Hand the deal over to another broker',
  'nda.send': 'Send an NDA',
  'nda.sign': 'Sign an NDA',
  'nda.revoke': 'Revoke an NDA',
  'offer.submit': ({ revision }) => (Number(revision) > 1 ? 'Revise an offer' : 'Submit an offer'),
  'offer.accept': 'Accept an offer',
  'offer.accept_change': 'Accept a change of the accepted terms',
  'offer.decline_change': 'Decline a change of the accepted terms',
  'condition.add': 'Add a closing condition',
  'condition.change': withWord('Change a closing condition', ' to ', 'status', states.conditionStates),
  'condition.remove': 'Remove a closing condition',
  'question.ask': 'Ask a question',
  'question.release': 'Release a question to the seller',
  'question.reject': 'Reject a question',
  'question.answer': 'Answer a question',
  'question.distribute': 'Pass an answer on',
  'question.withdraw': 'Withdraw a question',
  'document.upload': 'Upload a document',
  'document.change': 'Change a document',
  'document.remove': 'Remove a document',
  'document.restore': 'Put a document back',
  'qoe.checklist.add': 'Add to the QoE checklist',
  'qoe.checklist.update': withWord('Change the QoE checklist', ' to ', 'status', states.checklistStates),
  'qoe.snapshot.request': 'Upload books',
  'qoe.snapshot.complete': 'Read books',
  'qoe.snapshot.fail': 'Fail to read books',
  'qoe.normalization.add': 'Add a normalization',
  'qoe.normalization.remove': 'Remove a normalization',
  'qoe.admit': 'Let into the QoE workspace',
  'qoe.dismiss': 'Take out of the QoE workspace',
  'finding.add': 'Record a finding',
  'finding.status': withWord('Change a finding', ' to ', 'status', states.findingStates),
  'finding.comment': 'Comment on a finding',
  'financing.add': 'Add a source of financing',
  'financing.status': withWord('Change a source of financing', ' to ', 'status', states.commitmentStates),
  'tool:svc_deals_list': 'Tool: list deals',
  'tool:svc_deals_get': 'Tool: look at a deal',
  'tool:svc_documents_list': 'Tool: list documents',
  'tool:svc_questions_list': 'Tool: list questions',
  'tool:svc_questions_create': 'Tool: ask a question',
  'tool:svc_offers_list': 'Tool: list offers',
  'tool:svc_closing_conditions_list': 'Tool: list closing conditions',
  'tool:svc_qoe_get': 'Tool: look at the QoE workspace',
  'tool:svc_qoe_pl_periods': 'Tool: look at profit and loss',
  'tool:svc_qoe_customer_concentration': 'Tool: look at customer concentration',
  'tool:svc_qoe_normalization_create': 'Tool: add a normalization',
  'tool:svc_findings_list': 'Tool: list findings',
  'tool:svc_findings_get': 'Tool: look at a finding',
  'tool:svc_findings_create': 'Tool: record a finding',
  'tool:svc_findings_update_status': 'Tool: change a finding',
  'tool:svc_findings_comment': 'Tool: comment on a finding',
  'tool:svc_financing_stack_get': 'Tool: look at the financing',
  'tool:svc_financing_source_create': 'Tool: add a source of financing',
  'tool:svc_financing_source_update_status': 'Tool: change a source of financing',
};

/** What a record is about, as a deed: "Sign in", "Move the deal to listed". A new action without words is made readable. */
export function actionWords({ action, details }: Pick<AuditRecord, 'action' | 'details'>): string {
  const words = own(actions, action);
  if (words === undefined)
    return action.startsWith('tool:')
      ? `Tool: ${action.replace(/^tool:(svc_)?/, '').replaceAll('_', ' ')}`
      : readable(action);
  return typeof words === 'string' ? words : words(details);
}

const outcomes: Readonly<Record<string, string>> = {
  done: 'Done',
  ok: 'Done',
  refused: 'Refused',
  denied: 'Turned down',
  revoked: 'Access ended',
  repeated: 'There already',
  failed: 'Failed',
  rls_denied: 'Not allowed',
  permission_denied: 'Not allowed yet',
  submission_rejected: 'Refused',
  validation_error: 'Bad input',
  feature_not_available: 'Not available',
  internal_error: 'Failed',
};

/** How it ended. */
export const outcomeWords = (outcome: string): string => own(outcomes, outcome) ?? readable(outcome);

const names: Readonly<Record<string, string>> = {
  to: 'To',
  tool: 'Tool',
  ceiling: 'Requests a minute',
  expires_at: 'Ends',
  previous_valid_until: 'Old token works until',
  grants: 'Connections ended',
  sessions: 'Sessions ended',
  added: 'Contacts added',
};

/** "Ask a question", of a tool's name. */
const toolName = (tool: string): string | null => {
  const words = own(actions, `tool:${tool}`);
  return typeof words === 'string' ? readable(words.replace('Tool: ', '')) : null;
};

/** A detail's name. */
export const detailName = (name: string): string => own(names, name) ?? readable(name);

const values: Words = {
  ...states.dealStates,
  ...states.memberRoles,
  ...states.participantRoles,
  ...states.keyScopes,
  ...states.clientScopes,
  password: 'Password',
  passkey: 'Passkey',
  second_factor: 'Second factor',
  set_up: 'Set-up link',
  suspended: 'Suspended',
  live: 'Live',
  test: 'Test',
  refresh: 'Refresh token',
  access: 'Access token',
};

/** A detail's value; a name that a person gave stays as it is. */
export function detailWords(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'None';
  if (Array.isArray(value)) return value.length === 0 ? 'None' : value.map((one) => detailWords(name, one)).join(', ');
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value !== 'string') return typeof value === 'number' ? String(value) : JSON.stringify(value);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(value)) return formatTime(value);
  if (name === 'name') return value;
  return (name === 'tool' ? toolName(value) : wordOf(values, value)) ?? value;
}
