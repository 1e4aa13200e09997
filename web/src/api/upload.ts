/** Sends a file as the body of a request and reports progress, which fetch cannot do yet. */
import type { Answer, PathOf, RequestOptions } from '../../../server/contract.ts';
import { addressOf, ApiError, csrfHeader, errorOf, isSignedInAgain, valueOf, type Options } from './client.ts';

export interface Progress {
  signal?: AbortSignal;
  /** Called with the bytes sent so far. */
  onProgress?: (sent: number) => void;
}

/**
 * POSTs a file, or a form with one, to a path below /api and resolves to the response's JSON. Rejects with an
 * {@link ApiError}; with an AbortError when stopped.
 */
export const upload = <P extends PathOf<'post'>>(
  path: P,
  file: Blob | FormData,
  options: RequestOptions<'post', P> & Progress,
) => send(path, file, options) as Promise<Answer<'post', P>>;

function send(path: string, file: Blob | FormData, options: Options & Progress, again = false): Promise<unknown> {
  const { signal, onProgress } = options;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const asked = { method: 'POST', path };
  const request = new XMLHttpRequest();
  const stop = () => request.abort();
  request.open(asked.method, addressOf(path, options));
  request.setRequestHeader('Accept', 'application/json');
  // For a form the browser sets the type itself, with the boundary of its parts.
  if (file instanceof Blob) request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
  for (const [name, value] of Object.entries(csrfHeader())) request.setRequestHeader(name, value);
  let isSent = false;
  request.upload.addEventListener('progress', (event) => onProgress?.(event.loaded));
  request.upload.addEventListener('load', () => {
    isSent = true;
  });
  request.addEventListener('load', () => {
    if (request.status < 300) {
      try {
        resolve(valueOf(asked, request.status, request.responseText));
      } catch (fault) {
        reject(fault as Error);
      }
      return;
    }
    const error = errorOf(asked, request.status, request.responseText, request.getResponseHeader('Retry-After'));
    if (again) {
      reject(error);
      return;
    }
    isSignedInAgain(error, path).then(
      (signedIn) => (signedIn ? resolve(send(path, file, options, true)) : reject(error)),
      reject,
    );
  });
  request.addEventListener('error', () => {
    const message = isSent
      ? 'The connection was lost before Dealkeep answered. The file may have arrived: check before you upload it again.'
      : 'The upload was interrupted. Check your connection and try again.';
    reject(new ApiError(0, { code: isSent ? 'unanswered' : 'unreachable', message }));
  });
  request.addEventListener('abort', () => reject(new DOMException('The upload was stopped.', 'AbortError')));
  request.addEventListener('loadend', () => signal?.removeEventListener('abort', stop));
  if (signal?.aborted) {
    reject(new DOMException('The upload was stopped.', 'AbortError'));
  } else {
    signal?.addEventListener('abort', stop);
    request.send(file);
  }
  return promise;
}
