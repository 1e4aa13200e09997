/** Sends a file as the body of a request, telling how far it has come; fetch cannot tell that yet. */
import { ApiError, address, csrfHeader, errorOf, isSignedInAgain, type Query } from './client.ts';

interface UploadOptions {
  query?: Query;
  signal?: AbortSignal;
  /** Called with the bytes sent so far. */
  onProgress?: (sent: number) => void;
}

/** POSTs `file` to a path below /api and gives the answer's JSON. Throws an {@link ApiError}; an AbortError when stopped. */
export function upload<T>(path: string, file: Blob, options: UploadOptions = {}, again = false): Promise<T> {
  const { query, signal, onProgress } = options;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const request = new XMLHttpRequest();
  const stop = () => request.abort();
  request.open('POST', address(path, query));
  request.setRequestHeader('Accept', 'application/json');
  request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
  for (const [name, value] of Object.entries(csrfHeader())) request.setRequestHeader(name, value);
  request.upload.addEventListener('progress', (event) => onProgress?.(event.loaded));
  request.addEventListener('load', () => {
    if (request.status < 300) {
      resolve(JSON.parse(request.responseText) as T);
      return;
    }
    const error = errorOf(request.status, request.responseText);
    if (again) {
      reject(error);
      return;
    }
    isSignedInAgain(error, path).then(
      (signedIn) => (signedIn ? resolve(upload(path, file, options, true)) : reject(error)),
      reject,
    );
  });
  request.addEventListener('error', () => {
    const message = 'The upload was interrupted. Check your connection and try again.';
    reject(new ApiError(0, { code: 'unreachable', message }));
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
