import type { MouseEvent } from 'react';
import { errorOf, isSignedInAgain, ApiError } from '../api/client.ts';
import { toast, toastError } from '../components/toast.tsx';

/** After how long an answer has begun, in milliseconds: what is being saved needs its frame no more. */
const begunAfter = 10 * 60_000;

/** Says why there is no file; where the session was over, asks once more for it as soon as there is one again. */
async function refuse(url: string, text: string | null, again: boolean): Promise<void> {
  if (text === null) {
    toast('The file could not be downloaded. Check your connection and try again.', { tone: 'bad' });
    return;
  }
  // A frame does not tell the status.
  const error: ApiError = errorOf({ method: 'GET', path: url }, 0, text);
  if (!again && (await isSignedInAgain(error, url))) download(url, true);
  else toastError(error);
}

/**
 * Has the browser save what is at an address of ours while it arrives. A frame asks for it, in which a refusal can be read, and which
 * stays empty where the answer is a file.
 */
export function download(url: string, again = false): void {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.src = url;
  frame.addEventListener('load', () => {
    const shown = frame.contentDocument?.body;
    const text = (shown?.querySelector('pre') ?? shown)?.textContent ?? null;
    // Some browsers also load an empty page where the answer is a file.
    if (text === '') return;
    frame.remove();
    void refuse(url, text, again);
  });
  document.body.append(frame);
  setTimeout(() => frame.remove(), begunAfter);
}

/** The click on a link to a file: {@link download}, unless the person asks for something else, such as another tab. */
export function downloadByLink(event: MouseEvent<HTMLAnchorElement>): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  download(event.currentTarget.href);
}

/** Has the browser save a file that is here already. */
export function save(file: File): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = file.name;
  link.click();
  URL.revokeObjectURL(url);
}
