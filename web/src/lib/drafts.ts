/**
 * Drafts: unsent input, kept in the browser for some days across reloads and sessions. They are encrypted with a key
 * that the server gives only to that person, so another person who uses the device cannot read them. Passwords, codes
 * and the like are never passed to this module.
 */

import { wholeNumber } from './whole-number.ts';

const prefix = 'dealkeep.draft.';
const daysKept = 7;
const mostKept = 30;
/** In characters, as stored. */
const longest = 64_000;
const restMillis = 250;

interface Keys {
  readonly seal: CryptoKey;
  readonly name: CryptoKey;
}

let keys: Promise<Keys> | null = null;
let openedWith: string | null = null;

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const textOf = (bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): string =>
  btoa(Array.from(new Uint8Array(bytes), (one) => String.fromCharCode(one)).join(''));

/** Returns the stored drafts: the name, and the time of storage in milliseconds. */
function stored(): { name: string; at: number }[] {
  return Object.keys(localStorage)
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ name, at: wholeNumber(localStorage.getItem(name)?.split('.')[0]) }));
}

/** Removes drafts that are too old, and the oldest ones beyond the limit. */
function prune(): void {
  const eldest = Date.now() - daysKept * 86_400_000;
  const kept = stored().toSorted((one, other) => other.at - one.at);
  for (const [place, { name, at }] of kept.entries())
    if (place >= mostKept || !(at > eldest)) localStorage.removeItem(name);
}

async function readKeys(draftKey: string): Promise<Keys> {
  const raw = await crypto.subtle.importKey('raw', bytesOf(draftKey), 'HKDF', false, ['deriveKey']);
  const from = (info: string) => ({
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: new TextEncoder().encode(info),
  });
  const [seal, name] = await Promise.all([
    crypto.subtle.deriveKey(from('seal'), raw, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
    crypto.subtle.deriveKey(from('name'), raw, { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']),
  ]);
  return { seal, name };
}

/**
 * Opens the drafts of the person with this key (32 bytes in base64). Without storage or cryptography no drafts are
 * kept.
 */
export function openDrafts(draftKey: string): void {
  if (openedWith === draftKey || !('subtle' in crypto)) return;
  openedWith = draftKey;
  keys = readKeys(draftKey);
  try {
    prune();
  } catch {
    keys = null;
  }
}

/** Removes every draft on this device, when the person signs out. */
export function forgetDrafts(): void {
  try {
    for (const { name } of stored()) localStorage.removeItem(name);
  } catch {
    // Without storage there are no drafts.
  }
}

async function nameOf({ name }: Keys, draft: string): Promise<string> {
  return prefix + textOf(await crypto.subtle.sign('HMAC', name, new TextEncoder().encode(draft)));
}

/** Returns the draft kept under this name; null when there is none, or none that this person can decrypt. */
export async function readDraft(draft: string): Promise<unknown> {
  try {
    const opened = await keys;
    if (!opened) return null;
    const [at, iv, sealed] = localStorage.getItem(await nameOf(opened, draft))?.split('.') ?? [];
    if (!iv || !sealed || !(wholeNumber(at) > Date.now() - daysKept * 86_400_000)) return null;
    const text = await crypto.subtle.decrypt({ name: 'AES-GCM', iv: bytesOf(iv) }, opened.seal, bytesOf(sealed));
    return JSON.parse(new TextDecoder().decode(text)) as unknown;
  } catch {
    return null;
  }
}

/** The latest write of each draft: an older one that is still being encrypted must not overwrite it. */
const wishes = new Map<string, object>();

/** The drafts being encrypted or stored. */
const writes = new Set<Promise<void>>();

function write(draft: string, text: string | null): void {
  const written = store(draft, text).finally(() => writes.delete(written));
  writes.add(written);
}

async function store(draft: string, text: string | null): Promise<void> {
  const wish = {};
  wishes.set(draft, wish);
  try {
    const opened = await keys;
    if (!opened) return;
    const name = await nameOf(opened, draft);
    let entry: string | null = null;
    if (text !== null) {
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, opened.seal, new TextEncoder().encode(text));
      entry = `${Date.now()}.${textOf(iv)}.${textOf(sealed)}`;
    }
    if (wishes.get(draft) !== wish) return;
    if (entry === null || entry.length > longest) localStorage.removeItem(name);
    else localStorage.setItem(name, entry);
    prune();
  } catch {
    // Storage may be full or forbidden; the form still asks before it closes.
  } finally {
    if (wishes.get(draft) === wish) wishes.delete(draft);
  }
}

/** Values to write when their form has not changed for a while, by draft. */
const resting = new Map<string, { values: object; timer: ReturnType<typeof setTimeout> }>();

function forgetWaiting(draft: string): void {
  clearTimeout(resting.get(draft)?.timer);
  resting.delete(draft);
}

/** Keeps values under a name, shortly after the last change. */
export function keepDraft(draft: string, values: object): void {
  forgetWaiting(draft);
  const timer = setTimeout(() => {
    resting.delete(draft);
    write(draft, JSON.stringify(values));
  }, restMillis);
  resting.set(draft, { values, timer });
}

/** Stores pending drafts immediately, before the page is left. */
export async function keepDraftsNow(): Promise<void> {
  const latest = [...resting];
  for (const [draft] of latest) forgetWaiting(draft);
  for (const [draft, { values }] of latest) write(draft, JSON.stringify(values));
  await Promise.all(writes);
}

/** Removes the draft kept under a name, because it was sent or discarded. */
export function dropDraft(draft: string): void {
  forgetWaiting(draft);
  write(draft, null);
}
