/** Parts of the application in files of their own, which are fetched when they are first needed. */
import { ApiError, cannotBeReached } from '../api/client.ts';
import { wholeNumber } from './whole-number.ts';

const entryIn = (page: string): string | undefined => /\bsrc="(\/assets\/[^"]+\.js)"/.exec(page)?.[1];
const entry = entryIn(document.head.innerHTML);

/** Whether the server has a page with other files than this one. Without a connection that is not known. */
async function isOutOfDate(): Promise<boolean> {
  try {
    const response = await fetch('/', { cache: 'no-store' });
    const current = response.ok ? entryIn(await response.text()) : undefined;
    return entry !== undefined && current !== undefined && current !== entry;
  } catch {
    return false;
  }
}

async function lookForNewer(): Promise<void> {
  const last = wholeNumber(sessionStorage.getItem('dealkeep.reloaded') ?? 0);
  if (Date.now() - last < 30_000 || !(await isOutOfDate())) return;
  sessionStorage.setItem('dealkeep.reloaded', String(Date.now()));
  window.location.reload();
  await new Promise(() => {});
}

let looking: Promise<void> | null = null;

/**
 * Loads the page anew where it was open while a new version was put up: the files that it asks for are gone, and the new page has the new
 * ones. Resolves when there is none.
 */
function loadNewer(): Promise<void> {
  looking ??= lookForNewer().finally(() => (looking = null));
  return looking;
}

window.addEventListener('vite:preloadError', () => void loadNewer());

/**
 * Fetches a part. Rejects with an error that is meant for the person. Browsers remember of a file that it did not come until the page is loaded
 * anew, so none is asked for while it is known that it cannot come.
 */
export async function fetchPart<M>(load: () => Promise<M>): Promise<M> {
  if (!navigator.onLine) throw cannotBeReached();
  try {
    return await load();
  } catch {
    await loadNewer();
    const message = 'A part of this page did not arrive. Check your connection and reload the page.';
    throw new ApiError(0, { code: 'unreachable', message });
  }
}
