/** The form in which a client's name and redirect URIs are written, and how it is read. */

import type { ClientDetails } from '../../domain/clients/connected-clients.ts';
import { clientPresets, redirectUriFaults } from '../../domain/clients/redirect-uris.ts';
import { html, type Html } from '../../http/html.ts';

/** What was typed, and what is wrong with it. */
export interface ClientForm {
  readonly details: ClientDetails;
  readonly faults: readonly string[];
}

/** An empty form, or the one of a preset when there is such a preset. */
export function presetForm(id: string | undefined): ClientForm {
  const preset = clientPresets.find((known) => known.id === id);
  return { details: { name: preset?.name ?? '', redirectUris: preset?.redirectUris ?? [] }, faults: [] };
}

/** Reads the fields `name` and `redirect_uris`, one URI a line. */
export function readClientForm(form: URLSearchParams): ClientForm {
  const name = (form.get('name') ?? '').trim();
  const redirectUris = (form.get('redirect_uris') ?? '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const faults = redirectUriFaults(redirectUris).map(({ index, message }) =>
    index < 0 ? message : `${redirectUris[index]}: ${message}`,
  );
  if (name === '' || name.length > 100) faults.unshift('The name has 1 to 100 characters.');
  else if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) faults.unshift('The name must not have invisible characters.');
  return { details: { name, redirectUris }, faults };
}

/** The fields, with the faults above them. */
export function clientFields({ details, faults }: ClientForm): Html {
  return html`${
      faults.length > 0
        ? html`<div class="notice bad" role="alert">
            <ul>
              ${faults.map((fault) => html`<li>${fault}</li>`)}
            </ul>
          </div>`
        : null
    }
    <label for="name">Name</label>
    <input id="name" name="name" value="${details.name}" required maxlength="100" autocomplete="off" />
    <label for="redirect_uris">Redirect URIs, one a line</label>
    <textarea id="redirect_uris" name="redirect_uris" required spellcheck="false" rows="4">
${details.redirectUris.join('\n')}</textarea>
    <p class="quiet">
      https, or http on localhost, 127.0.0.1 or [::1]; each is compared character for character. A loopback URI without
      a port stands for any port.
    </p>`;
}

/** Links that fill the form in for a well-known client. */
export function presetLinks(): Html {
  return html`<p>
    Fill in for:
    ${clientPresets.map(({ id, name }, index) => html`${index > 0 ? ', ' : ''}<a href="/settings/clients?preset=${id}#new">${name}</a>`)}
  </p>`;
}
