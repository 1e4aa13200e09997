/**
 * What a person has typed and not sent, kept in the browser for a while: it survives a reload and the end of a session.
 * It is sealed with a key that the server gives to that person alone, so another person who uses the device cannot read it.
 * Passwords, codes and the like are never given to it.
 */

import { wholeNumber } from './whole-number.ts';

const prefix = 'dealkeep.draft.';
const daysKept = 7;
const mostKept = 30;
/** In characters as stored. */
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

/** What is stored here: name, time it was stored at in milliseconds, and the sealed text. */
function stored(): { name: string; at: number }[] {
  return Object.keys(localStorage)
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ name, at: wholeNumber(localStorage.getItem(name)?.split('.')[0]) }));
}

/** Takes out what is too old, and the oldest of what is too much. */
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

/** Opens the drafts of the person who has this key (32 bytes in base64). Without storage or cryptography nothing is kept. */
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

/** Forgets every draft on this device: at signing out. */
export function forgetDrafts(): void {
  try {
    for (const { name } of stored()) localStorage.removeItem(name);
  } catch {
    // Without storage there are none.
  }
}

async function nameOf({ name }: Keys, draft: string): Promise<string> {
  return prefix + textOf(await crypto.subtle.sign('HMAC', name, new TextEncoder().encode(draft)));
}

/** What was kept under this name; null when there is nothing, or nothing that this person may read. */
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

/** The latest wish for each draft: an older one that is still being sealed does not come after it. */
const wishes = new Map<string, object>();

/** Those that are being sealed or stored. */
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
    // Storage may be full or forbidden: then the form asks before it closes, and that is all.
  } finally {
    if (wishes.get(draft) === wish) wishes.delete(draft);
  }
}

/** What is to be written once its form has rested, by draft. */
const resting = new Map<string, { values: object; timer: ReturnType<typeof setTimeout> }>();

function forgetWaiting(draft: string): void {
  clearTimeout(resting.get(draft)?.timer);
  resting.delete(draft);
}

/** Keeps values under a name, a moment after the last change. */
export function keepDraft(draft: string, values: object): void {
  forgetWaiting(draft);
  const timer = setTimeout(() => {
    resting.delete(draft);
    write(draft, JSON.stringify(values));
  }, restMillis);
  resting.set(draft, { values, timer });
}

/** Keeps at once what was typed last: for when the page is about to be left. */
export async function keepDraftsNow(): Promise<void> {
  const latest = [...resting];
  for (const [draft] of latest) forgetWaiting(draft);
  for (const [draft, { values }] of latest) write(draft, JSON.stringify(values));
  await Promise.all(writes);
}

/** Forgets what was kept under a name: it was sent, or given up. */
export function dropDraft(draft: string): void {
  forgetWaiting(draft);
  write(draft, null);
}
