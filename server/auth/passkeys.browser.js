// What a plain page needs to use passkeys: the one thing here that cannot be done without a script.

/** Sends JSON and resolves with the answer; rejects with the sentence that the server has for the person. */
async function send(path, body, csrf) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(csrf ? { 'X-CSRF-Token': csrf } : {}) },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (response.ok) return answer;
  if (answer.error.code === 'recent_sign_in_required') {
    location.assign(`/re-authenticate?${new URLSearchParams({ return_to: location.pathname })}`);
  }
  throw new Error(answer.error.message);
}

async function signIn({ returnTo }) {
  const options = await send('/api/auth/passkey/options', {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  const { return_to } = await send('/api/auth/passkey/sign-in', {
    response: credential.toJSON(),
    return_to: returnTo,
  });
  location.assign(return_to);
}

async function register({ csrf, nameField }) {
  const options = await send('/api/auth/passkey/registration', {}, csrf);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  const name = document.getElementById(nameField).value;
  await send('/api/auth/passkey/add', { response: credential.toJSON(), name }, csrf);
  location.assign('/settings/security?done=passkey');
}

const jobs = { 'sign-in': signIn, register };

for (const element of document.querySelectorAll('[data-passkey]')) {
  if (!globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) break;
  const button = element.querySelector('button');
  const message = element.querySelector('[role=alert]');
  element.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    message.hidden = true;
    try {
      await jobs[element.dataset.passkey](element.dataset);
    } catch (error) {
      // The browser's own words for "closed, timed out or not allowed" help nobody.
      message.textContent = error.name === 'NotAllowedError' ? 'No passkey was used. Try again.' : error.message;
      message.hidden = false;
      button.disabled = false;
    }
  });
}
