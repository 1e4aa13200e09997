/** Every action of the audit trail, with its wording for the pages. */

/** Further details of a record: never text written by a person, and no amounts. */
export type Details = Readonly<Record<string, unknown>>;

type Words = string | ((details: Details) => string);

const inWords = (value: unknown): string => String(value).replaceAll('_', ' ');
const article = (word: string): string => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);

/** Appends the detail `name` if the record has it: "Move the deal to under offer". */
const withDetail =
  (start: string, joint: string, name: string) =>
  ({ [name]: value }: Details): string =>
    typeof value === 'string' ? `${start}${joint}${inWords(value)}` : start;

// Where exclusivity was granted without an offer, there are no accepted terms yet to change.
const whatIsDecided = ({ first }: Details): string => (first === true ? 'an offer' : 'a change to the accepted terms');

const revises = ({ revision }: Details): boolean => Number(revision) > 1;

/** Actions on deals: the title, and the sentence without a subject for the deal's activity. */
const onDeals = {
  'deal.open': ['Open the deal', 'opened the deal'],
  'deal.edit': ['Edit the deal', 'edited the deal'],
  'deal.move': [withDetail('Move the deal', ' to ', 'to'), withDetail('moved the deal', ' to ', 'to')],
  'deal.hand_over': ['Hand the deal over to another broker', 'handed the deal over to another broker'],
  'exclusivity.grant': ['Grant exclusivity', 'granted exclusivity'],
  'exclusivity.extend': ['Change the end of exclusivity', 'changed the end of the exclusivity'],
  'exclusivity.lapse': ['End exclusivity on its date', 'ended the exclusivity on its date'],
  'exclusivity.release': ['Release exclusivity', 'released the exclusivity'],
  'participant.invite': [
    withDetail('Invite to the deal', ' as ', 'role'),
    ({ role }) => (typeof role === 'string' ? `invited ${article(inWords(role))}` : 'invited someone'),
  ],
  'participant.remove': [
    ({ left, withdrawn }) =>
      left === true
        ? 'Leave the deal'
        : withdrawn === true
          ? 'Withdraw an invitation to the deal'
          : 'Remove from the deal',
    ({ left, withdrawn }) =>
      left === true ? 'left the deal' : withdrawn === true ? 'withdrew an invitation' : 'removed someone',
  ],
  'invitation.accept': ['Accept an invitation', 'joined'],
  'invitation.decline': ['Decline an invitation', 'declined an invitation'],
  'nda.send': ['Send an NDA', 'sent an NDA'],
  'nda.sign': ['Sign an NDA', 'signed an NDA'],
  'nda.expire': ['End an NDA on its date', 'ended an NDA on its date'],
  'nda.revoke': ['Revoke an NDA', 'revoked an NDA'],
  'offer.submit': [
    (details) => (revises(details) ? 'Revise an offer' : 'Submit an offer'),
    (details) => (revises(details) ? 'revised an offer' : 'submitted an offer'),
  ],
  'offer.accept': ['Accept an offer', 'accepted an offer'],
  'offer.accept_change': [
    (details) => `Accept ${whatIsDecided(details)}`,
    (details) => `accepted ${whatIsDecided(details)}`,
  ],
  'offer.decline_change': [
    (details) => `Decline ${whatIsDecided(details)}`,
    (details) => `declined ${whatIsDecided(details)}`,
  ],
  'condition.add': ['Add a closing condition', 'added a closing condition'],
  'condition.change': [
    withDetail('Change a closing condition', ' to ', 'status'),
    withDetail('changed a closing condition', ', now ', 'status'),
  ],
  'condition.remove': ['Remove a closing condition', 'removed a closing condition'],
  'question.ask': ['Ask a question', 'asked a question'],
  'question.release': ['Release a question to the seller', 'released a question to the seller'],
  'question.reject': ['Reject a question', 'rejected a question'],
  'question.answer': ['Answer a question', 'answered a question'],
  'question.distribute': ['Send an answer to the buyer', 'sent an answer to the buyer'],
  'question.withdraw': ['Withdraw a question', 'withdrew a question'],
  'document.upload': ['Upload a document', 'uploaded a document'],
  'document.change': ['Change a document', 'changed a document'],
  'document.remove': ['Remove a document', 'removed a document'],
  'document.restore': ['Restore a document', 'restored a document'],
  'qoe.checklist.add': ['Add to the QoE checklist', 'added to the QoE checklist'],
  'qoe.checklist.update': [
    withDetail('Change the QoE checklist', ' to ', 'status'),
    withDetail('changed the QoE checklist', ': ', 'status'),
  ],
  'qoe.snapshot.request': ['Upload financials', 'uploaded financials'],
  'qoe.snapshot.complete': ['Read uploaded financials', 'finished reading uploaded financials'],
  'qoe.snapshot.fail': ['Fail to read uploaded financials', 'could not read uploaded financials'],
  'qoe.normalization.add': ['Add an add-back or adjustment', 'added an add-back or adjustment'],
  'qoe.normalization.remove': ['Remove an add-back or adjustment', 'removed an add-back or adjustment'],
  'qoe.contradiction.answer': [
    ({ status }) =>
      status === 'to_correct'
        ? 'Answer a contradiction of the financials: to be corrected'
        : status === 'explained'
          ? 'Explain a contradiction of the financials'
          : 'Answer a contradiction of the financials',
    'answered a contradiction of the financials',
  ],
  'qoe.contradiction.unanswer': [
    'Take back the answer to a contradiction of the financials',
    'took back the answer to a contradiction of the financials',
  ],
  'qoe.contradiction.release': [
    'Release a contradiction of the financials to buyers',
    'released a contradiction of the financials to buyers',
  ],
  'qoe.contradiction.withdraw': [
    'Withdraw a contradiction of the financials from buyers',
    'withdrew a contradiction of the financials from buyers',
  ],
  'qoe.admit': [
    withDetail('Add to the QoE workspace', ' as ', 'role'),
    withDetail('added someone to the QoE workspace', ' as ', 'role'),
  ],
  'qoe.dismiss': ['Remove from the QoE workspace', 'removed someone from the QoE workspace'],
  'report.download': [
    ({ format }) => (typeof format === 'string' ? `Download a report as ${format.toUpperCase()}` : 'Download a report'),
    ({ format }) =>
      typeof format === 'string' ? `downloaded a report as ${format.toUpperCase()}` : 'downloaded a report',
  ],
  'finding.add': ['Record a finding', 'recorded a finding'],
  'finding.assign': ['Change the owner of a finding', 'changed the owner of a finding'],
  'finding.status': [
    withDetail('Change a finding', ' to ', 'status'),
    withDetail('changed the status of a finding', ' to ', 'status'),
  ],
  'finding.comment': ['Comment on a finding', 'commented on a finding'],
  'financing.add': ['Add a source of financing', 'added a source of financing'],
  'financing.status': [
    withDetail('Change a source of financing', ' to ', 'status'),
    withDetail('changed the status of a source of financing', ' to ', 'status'),
  ],
  'reminder.send': ['Send a reminder', 'sent a reminder'],
  'deal_opt_in.on': ['Allow assistants to write on the deal', 'allowed assistants to write'],
  'deal_opt_in.off': ['Stop allowing assistants to write', 'stopped allowing assistants to write'],
  'deal.admit_keys': ['Open the deal to API keys', 'opened the deal to the brokerage’s API keys'],
  'deal.shut_out_keys': ['Close the deal to API keys', 'closed the deal to the brokerage’s API keys'],
  'deal_tools.stop': ['Turn assistants off for everyone', 'turned assistants off for everyone'],
  'deal_tools.allow': ['Allow assistants to write again', 'allowed assistants to write again'],
} as const satisfies Record<string, readonly [title: Words, sentence: Words]>;

/** The titles of all other actions. */
const elsewhere = {
  'session.sign_in': 'Sign in',
  'session.sign_out': 'Sign out',
  'session.sign_out_everywhere': 'Sign out everywhere',
  'session.end': ({ by }) => (by === 'admin' ? 'Signed out everywhere by an admin' : 'End other sessions'),
  'password.change': 'Change the password',
  'password.reset_ask': 'Request a password reset',
  'password.reset': 'Reset the password',
  'address.change_ask': 'Request a change of e-mail address',
  'address.change': 'Change the e-mail address',
  'second_factor.on': 'Set up an authenticator',
  'second_factor.off': 'Remove the authenticator',
  'recovery_codes.renew': 'Make new recovery codes',
  'passkey.add': 'Add a passkey',
  'passkey.rename': 'Rename a passkey',
  'passkey.remove': 'Remove a passkey',
  'calendar_link.make': 'Create a link to the calendar',
  'calendar_link.remove': 'Remove the link to the calendar',
  'user.suspend': 'Suspend the account',
  'user.restore': 'Restore the account',
  'person.rename': 'Change one’s name',
  'person.export': 'Export the data of a person',
  'person.erase': 'Erase a person',
  'hold.place': ({ kind }) => (typeof kind === 'string' ? `Place a legal hold on the ${kind}` : 'Place a legal hold'),
  'hold.lift': ({ kind }) => (typeof kind === 'string' ? `Lift the legal hold on the ${kind}` : 'Lift a legal hold'),
  'brokerage.set_up': 'Set up the brokerage',
  'brokerage.create': 'Create the brokerage',
  'brokerage.rename': 'Rename the brokerage',
  'brokerage.logo': 'Upload the brokerage’s logo',
  'brokerage.logo.remove': 'Remove the brokerage’s logo',
  'brokerage.export': 'Export the brokerage’s data',
  'brokerage.ask_deletion': 'Request the deletion of the brokerage',
  'brokerage.cancel_deletion': 'Cancel the deletion of the brokerage',
  'brokerage.delete': 'Delete the brokerage',
  'brokerage.second_factor': ({ required }) =>
    required === false ? 'No longer require a second factor' : 'Require a second factor',
  'brokerage.admit_keys': ({ admitted }) =>
    admitted === false ? 'No longer open new deals to API keys' : 'Open new deals to API keys',
  'member.invite': withDetail('Invite a member', ' as ', 'role'),
  'member.role': withDetail('Change a member’s role', ' to ', 'role'),
  'member.remove': ({ left, withdrawn }) =>
    left === true
      ? 'Leave the brokerage'
      : withdrawn === true
        ? 'Withdraw an invitation to the brokerage'
        : 'Remove a member',
  'member.end_sessions': 'End a member’s sessions',
  'mail.resend': 'Send an e-mail again',
  'contact.create': 'Add a contact',
  'contact.update': 'Change a contact',
  'contact.archive': 'Archive a contact',
  'contact.restore': 'Restore a contact',
  'contact.erase': 'Erase a contact',
  'contact.import': 'Import contacts',
  'contact.merge': 'Merge a duplicate into a contact',
  'contact.batch': 'Change many contacts',
  'contact.export': 'Export contacts',
  'audit.export': 'Export the audit trail',
  'audit.keep': 'Change how long the audit trail is kept',
  'api_key.create': 'Create an API key',
  'api_key.rotate': 'Rotate an API key',
  'api_key.revoke': 'Revoke an API key',
  'sandbox.reset': 'Reset the sandbox',
  'webhook.create': 'Add a webhook',
  'webhook.update': ({ state }) =>
    state === 'off' ? 'Turn off a webhook' : state === 'on' ? 'Turn on a webhook' : 'Change a webhook',
  'webhook.delete': 'Delete a webhook',
  'webhook.rotate_secret': 'Rotate the secret of a webhook',
  'webhook.test': 'Send a test to a webhook',
  'webhook.redeliver': 'Send to a webhook again',
  'webhook.off': 'Turn off a webhook that accepts nothing',
  'client.create': 'Register a client',
  'client.change': 'Change a client',
  'client.disable': 'Turn off a client',
  'client.enable': 'Turn on a client',
  'client.share': 'Share a client',
  'client.unshare': 'Stop sharing a client',
  'client.disconnect': 'Disconnect a client',
  'client.delete': 'Delete a client',
  'consent.give': 'Authorize a client',
  'consent.deny': 'Decline a client',
  'consent.end': 'End what was connected without a second factor',
  'code.replay': 'Reuse an authorization code',
  'code.burn': 'Misuse an authorization code',
  'tokens.issue': 'Connect a client',
  'tokens.refresh': 'Renew a client’s access',
  'tokens.replay': 'Reuse a client’s old token',
  'tokens.revoke': 'End a client’s access',
  'tool_grant.on': 'Allow a tool',
  'tool_grant.off': 'Stop allowing a tool',
} as const satisfies Record<string, Words>;

/** An action on a deal. */
export type DealAction = keyof typeof onDeals;
/** An action that the service or the database records. Tool calls have actions of their own, `tool:<name>`. */
export type Action = DealAction | keyof typeof elsewhere;

const toolAction = 'tool:';

type Beginning<A> = A extends `${infer Subject}.${string}` ? `${Subject}.` : never;
/** The beginning of actions with the same subject: "deal.", "api_key.", and of tool calls. */
export type AuditSubject = Beginning<Action> | typeof toolAction;

/** The titles of tools by name, from the tools' catalog. */
type ToolTitles = ReadonlyMap<string, string>;

const said = (words: Words, details: Details): string => (typeof words === 'string' ? words : words(details));

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Whether an action has a wording; records of earlier releases may have actions that no longer exist. */
export const isKnownAction = (action: string): boolean =>
  action.startsWith(toolAction) || Object.hasOwn(onDeals, action) || Object.hasOwn(elsewhere, action);

/** The title of a record: "Move the deal to listed", "Tool: list deals". */
export function auditTitle(action: string, details: Details, tools: ToolTitles): string {
  if (action.startsWith(toolAction)) {
    const name = action.slice(toolAction.length);
    const title = tools.get(name) ?? name.replace(/^svc_/, '').replaceAll('_', ' ');
    return `Tool: ${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  }
  const words = own<readonly [Words, Words]>(onDeals, action)?.[0] ?? own<Words>(elsewhere, action);
  if (words !== undefined) return said(words, details);
  const readable = action.replace(/[._:-]+/g, ' ').trim();
  return readable.charAt(0).toUpperCase() + readable.slice(1);
}

/** The sentence for an action on a deal, without its subject. */
export function activitySentence(action: string, details: Details): string {
  const sentence = own<readonly [Words, Words]>(onDeals, action)?.[1];
  return sentence === undefined ? `did: ${inWords(action).replace(/[.:]/g, ', ')}` : said(sentence, details);
}
