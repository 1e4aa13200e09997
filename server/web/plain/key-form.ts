/** The form in which an API key is described, and how it is read. */

import {
  keyEnvironments,
  keyScopes,
  type KeyEnvironment,
  type KeyScope,
  type NewApiKey,
} from '../../domain/clients/api-keys.ts';
import { html, type Html } from '../../http/html.ts';
import { endOfDay } from './as-person.ts';

export const scopeWords: Record<KeyScope, string> = {
  'contacts:read': 'read contacts',
  'contacts:write': 'add contacts',
};
const environmentWords: Record<KeyEnvironment, string> = { live: 'live (dk_live_…)', test: 'test (dk_test_…)' };

/** The key that a form describes, or what is wrong with it. */
export function readKeyForm(form: URLSearchParams): { key: NewApiKey } | { fault: string } {
  const name = (form.get('name') ?? '').trim();
  const scopes = keyScopes.filter((scope) => form.getAll('scopes').includes(scope));
  const environment = keyEnvironments.find((known) => known === form.get('environment'));
  const ceiling = form.get('ceiling') ?? '';
  const expiresAt = endOfDay(form.get('expires'));
  const brokerageId = form.get('brokerage') ?? '';
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(brokerageId)) return { fault: 'Choose a brokerage.' };
  if (!/^\P{C}{1,100}$/u.test(name)) return { fault: 'Enter a name of 1 to 100 characters, on one line.' };
  if (environment === undefined) return { fault: 'Choose what the key is for: live or test.' };
  if (scopes.length === 0) return { fault: 'Choose at least one thing that the key may do.' };
  if (!/^$|^[1-9]\d{0,4}$|^100000$/.test(ceiling))
    return { fault: 'The limit is a whole number from 1 to 100000 requests a minute, or empty for the usual limit.' };
  if (expiresAt === undefined) return { fault: 'Enter the last day as YYYY-MM-DD, or leave it empty.' };
  return {
    key: { brokerageId, name, environment, scopes, ceiling: ceiling === '' ? null : Number(ceiling), expiresAt },
  };
}

/** The fields, with what was typed before. */
export function keyFields(brokerages: readonly { id: string; name: string }[], typed: URLSearchParams): Html {
  const environment = typed.get('environment') ?? 'live';
  const [only] = brokerages;
  return html`${
      brokerages.length === 1
        ? html`<input type="hidden" name="brokerage" value="${only?.id}" />`
        : html`<label for="brokerage">Brokerage</label>
            <select id="brokerage" name="brokerage">
              ${brokerages.map(
                ({ id, name }) =>
                  html`<option value="${id}" ${id === typed.get('brokerage') && html` selected`}>${name}</option>`,
              )}
            </select>`
    }
    <label for="name">Name</label>
    <input
      id="name"
      name="name"
      value="${typed.get('name')}"
      required
      maxlength="100"
      autocomplete="off"
      aria-describedby="name-hint"
    />
    <p class="quiet" id="name-hint">The program that will use the key, so that you recognise it later.</p>
    <fieldset>
      <legend>The key may</legend>
      ${keyScopes.map(
        (scope) =>
          html`<label class="choice">
            <input
              type="checkbox"
              name="scopes"
              value="${scope}"
              ${typed.getAll('scopes').includes(scope) && html`checked`}
            />
            <span>${scopeWords[scope]} <small>(${scope})</small></span>
          </label>`,
      )}
    </fieldset>
    <fieldset>
      <legend>It is for</legend>
      ${keyEnvironments.map(
        (known) =>
          html`<label class="choice">
            <input type="radio" name="environment" value="${known}" ${known === environment && html`checked`} />
            <span>${environmentWords[known]}</span>
          </label>`,
      )}
      <p class="quiet">This only shows in the token: both work on the same contacts.</p>
    </fieldset>
    <label for="ceiling">Requests a minute (optional)</label>
    <input
      id="ceiling"
      name="ceiling"
      value="${typed.get('ceiling')}"
      inputmode="numeric"
      placeholder="the usual limit"
    />
    <label for="expires">Last day (optional; to its end, UTC)</label>
    <input id="expires" type="date" name="expires" value="${typed.get('expires')}" />`;
}
