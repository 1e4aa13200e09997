/**
 * Labels of the audit trail: outcomes and details. The server labels the actions. The exported file keeps the raw
 * names.
 */
import { formatTime } from './format.ts';
import * as states from './states.ts';

type Words = Readonly<Record<string, { readonly label: string } | string>>;

/** Makes an internal name without a label readable: "deal.move_back" becomes "Deal move back". */
function readable(name: string): string {
  const text = name.replace(/[._:-]+/g, ' ').trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the entry of a record under a name from the trail, without inherited properties. */
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

/** Returns the label of an outcome. */
export const outcomeWords = (outcome: string): string => own(outcomes, outcome) ?? readable(outcome);

const names: Readonly<Record<string, string>> = {
  to: 'To',
  before: 'Before',
  until: 'Until',
  from: 'From',
  needs_nda: 'Needs an NDA',
  mailed: 'Mailed by Dealkeep',
  months: 'Months kept',
  host: 'Host',
  host_before: 'Host before',
  hosts: 'Hosts',
  hosts_before: 'Hosts before',
  person: 'Id of the person',
  tool: 'Tool',
  ceiling: 'Requests per minute',
  expires_at: 'Ends',
  previous_valid_until: 'Old token works until',
  grants: 'Connections ended',
  sessions: 'Sessions ended',
  added: 'Contacts added',
};

/** Returns the label of a detail's name. */
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
  // Kinds of documents.
  simple: 'Data room',
  production: 'Produced for a diligence request',
  pdf: 'PDF',
  xlsx: 'Excel workbook',
  // Subjects of reminders.
  ndas: 'NDA',
  questions: 'Question',
  closing_conditions: 'Closing condition',
  // How somebody signed in, or why that failed.
  password: 'Password',
  passkey: 'Passkey',
  code: 'Authenticator code',
  reset: 'Reset of the password',
  second_factor: 'Second factor',
  set_up: 'Set-up link',
  oneself: 'The person themselves',
  live: 'Live',
  test: 'Test',
  refresh: 'Refresh token',
  access: 'Access token',
  // Changed fields of a contact.
  displayName: 'Name',
  email: 'E-mail',
  externalId: 'External ID',
  archivedAt: 'Archived',
  needs_nda: 'Needs an NDA',
  redirect_uris: 'Redirect URIs',
  url: 'URL',
  types: 'Types of events',
};

/** Whether a value is an internal word as the service records it: people's input appears in details only as names. */
const isOurs = (value: string): boolean => /^[a-z]+([_ ][a-z]+)*$/.test(value);

/** Returns the label of a detail's value; names given by people stay unchanged, and a tool is shown by its title. */
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
