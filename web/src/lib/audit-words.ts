/** The audit trail in words: outcomes and details. The server words the actions. The raw names stay in the file that is exported. */
import { formatTime } from './format.ts';
import * as states from './states.ts';

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

const outcomes: Readonly<Record<string, string>> = {
  done: 'Done',
  ok: 'Done',
  refused: 'Refused',
  denied: 'Declined',
  revoked: 'Access ended',
  repeated: 'Already done',
  failed: 'Failed',
  rls_denied: 'Not allowed',
  permission_denied: 'Not allowed yet',
  submission_rejected: 'Refused',
  validation_error: 'Invalid input',
  feature_not_available: 'Not available',
  internal_error: 'Failed',
};

/** How it ended. */
export const outcomeWords = (outcome: string): string => own(outcomes, outcome) ?? readable(outcome);

const names: Readonly<Record<string, string>> = {
  to: 'To',
  tool: 'Tool',
  ceiling: 'Requests per minute',
  expires_at: 'Ends',
  previous_valid_until: 'Old token works until',
  grants: 'Connections ended',
  sessions: 'Sessions ended',
  added: 'Contacts added',
};

/** A detail's name. */
export const detailName = (name: string): string => own(names, name) ?? readable(name);

const values: Words = {
  ...states.dealStates,
  ...states.memberRoles,
  ...states.participantRoles,
  ...states.workspaceRoles,
  ...states.conditionStates,
  ...states.checklistStates,
  ...states.findingStates,
  ...states.commitmentStates,
  ...states.contradictionAnswered,
  ...states.snapshotTypes,
  ...states.confidentialities,
  ...states.contactTypes,
  ...states.keyScopes,
  ...states.clientScopes,
  // Of which kind a document is.
  simple: 'Data room',
  production: 'Produced for a diligence request',
  pdf: 'PDF',
  xlsx: 'Excel workbook',
  // What a reminder is about.
  ndas: 'NDA',
  questions: 'Question',
  closing_conditions: 'Closing condition',
  // How somebody signed in, or why not.
  password: 'Password',
  passkey: 'Passkey',
  code: 'Authenticator code',
  second_factor: 'Second factor',
  set_up: 'Set-up link',
  oneself: 'The person themselves',
  live: 'Live',
  test: 'Test',
  refresh: 'Refresh token',
  access: 'Access token',
  // What was changed of a contact.
  displayName: 'Name',
  email: 'E-mail',
  externalId: 'External ID',
  archivedAt: 'Archived',
};

/** A word of ours, as the service writes it down: nothing that a person wrote is among the details but names. */
const isOurs = (value: string): boolean => /^[a-z]+([_ ][a-z]+)*$/.test(value);

/** A detail's value in words; a name that a person gave stays as it is, and a tool is called by its title. */
export function detailWords(name: string, value: unknown, toolTitle: string | null): string {
  if (value === null || value === undefined || value === '') return name === 'ceiling' ? 'The default' : 'None';
  if (Array.isArray(value))
    return value.length === 0 ? 'None' : value.map((one) => detailWords(name, one, toolTitle)).join(', ');
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value !== 'string') return typeof value === 'number' ? String(value) : JSON.stringify(value);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(value)) return formatTime(value);
  if (name === 'name') return value;
  if (name === 'tool') return toolTitle ?? value;
  return wordOf(values, value) ?? (isOurs(value) ? readable(value) : value);
}
