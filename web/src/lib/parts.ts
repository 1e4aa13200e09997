/** Parts of the application in separate files, which are fetched when first needed. */
import { ApiError, cannotBeReached } from '../api/client.ts';
import { wholeNumber } from './whole-number.ts';

const entryIn = (page: string): string | undefined => /\bsrc="(\/assets\/[^"]+\.js)"/.exec(page)?.[1];
const entry = entryIn(document.head.innerHTML);

/** Whether the server now serves a page with other files than this one; false when it cannot be reached. */
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
 * Reloads the page when a new version was deployed while it was open: the files that it requests no longer exist, and
 * the new page refers to the new ones. Resolves when there is no new version.
 */
function loadNewer(): Promise<void> {
  looking ??= lookForNewer().finally(() => (looking = null));
  return looking;
}

/**
 * Fetches a part. Rejects with an error that is meant for the person. Browsers remember a failed import until the page
 * is reloaded, so nothing is requested while the browser is offline. `isNeeded` says at the time of the failure whether
 * the person is waiting for the part: the page is not reloaded for one that is only fetched in advance.
 */
export async function fetchPart<M>(load: () => Promise<M>, isNeeded: () => boolean = () => true): Promise<M> {
  if (!navigator.onLine) throw cannotBeReached();
  try {
    return await load();
  } catch {
    if (isNeeded()) await loadNewer();
    const message = 'Part of this page did not load. Check your connection and reload the page.';
    throw new ApiError(0, { code: 'unreachable', message });
  }
}
