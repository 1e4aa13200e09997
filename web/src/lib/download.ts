import type { MouseEvent } from 'react';
import { errorOf, isSignedInAgain, ApiError } from '../api/client.ts';
import { toast, toastError } from '../components/toast.tsx';

/** Milliseconds after which the browser has certainly begun to save the response, and the frame is no longer needed. */
const begunAfter = 10 * 60_000;

/**
 * Shows why there is no file; when the session had ended, requests the file once more as soon as the person is signed
 * in again.
 */
async function refuse(url: string, text: string | null, again: boolean): Promise<void> {
  if (text === null) {
    toast('The file could not be downloaded. Check your connection and try again.', { tone: 'bad' });
    return;
  }
  // A frame does not expose the status.
  const error: ApiError = errorOf({ method: 'GET', path: url }, 0, text);
  if (!again && (await isSignedInAgain(error, url))) download(url, true);
  else toastError(error);
}

/**
 * Has the browser save the file at a URL of our origin as it arrives. A hidden frame requests it: an error response can
 * be read in the frame, which stays empty when the response is a file.
 */
export function download(url: string, again = false): void {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.src = url;
  frame.addEventListener('load', () => {
    const shown = frame.contentDocument?.body;
    const text = (shown?.querySelector('pre') ?? shown)?.textContent ?? null;
    // Some browsers also load an empty page when the response is a file.
    if (text === '') return;
    frame.remove();
    void refuse(url, text, again);
  });
  document.body.append(frame);
  setTimeout(() => frame.remove(), begunAfter);
}

/**
 * Handles a click on a link to a file: calls {@link download}, unless the person asks for something else, such as a new
 * tab.
 */
export function downloadByLink(event: MouseEvent<HTMLAnchorElement>): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  download(event.currentTarget.href);
}

/** Has the browser save a file that is in memory. */
export function save(file: File): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = file.name;
  link.click();
  URL.revokeObjectURL(url);
}
