/**
 * Uploads to the data rooms of deals, a few files at a time. They continue while the person visits other pages; failed
 * ones are kept until the person has seen them.
 */
import { toast } from '../components/toast.tsx';
import { announce } from '../lib/announce.ts';
import { plural } from '../lib/format.ts';
import { ApiError } from './client.ts';
import type { Confidentiality, Id, SharedBounds } from './shapes.ts';
import { upload } from './upload.ts';

/** What the person chose before dropping the files. */
export interface AboutFiles {
  category: string;
  confidentiality: Confidentiality;
  /** The diligence request that the files answer; '' for none. */
  request: string;
}

export interface Upload {
  id: number;
  file: File;
  /** As chosen when the file was dropped: who may open it must not change while it waits. */
  about: AboutFiles;
  state: 'waiting' | 'sending' | 'done' | 'failed' | 'stopped';
  /** Bytes sent so far. */
  sent: number;
  /** Why the upload failed, or why it waits though the file was sent before, for the person. */
  message: string | null;
  /** Whether it failed only because there was no connection, so that it can be sent again as it is. */
  interrupted: boolean;
}

const parallel = 3;
/** The server's size limit, in bytes and in words, and its error message for a larger file. */
export const largestDocument: SharedBounds['largestDocument'] = {
  bytes: 2_147_483_648,
  words: '2 GB',
  exceeded: 'The file is larger than 2 GB. Split it, or compress it.',
};

/** Why a file cannot be uploaded at all, for the person; otherwise null. */
function faultOf({ size }: File): string | null {
  if (size > largestDocument.bytes) return largestDocument.exceeded;
  return size === 0 ? 'The file is empty.' : null;
}

/**
 * For how many seconds the server asks to wait, having taken nothing of a file: too many are sent, or requests were
 * made, at once. Null for any other error.
 */
const pauseAfter = (error: unknown): number | null =>
  error instanceof ApiError && (error.code === 'busy' || error.code === 'rate_limited') ? error.retryAfter : null;

const isUnderWay = ({ state }: Upload): boolean => state === 'waiting' || state === 'sending';

class UploadQueue {
  readonly #dealId: Id;
  readonly #onDone: () => void;
  #uploads: readonly Upload[] = [];
  #lastId = 0;
  /** Number of uploads that ended since none was last in progress. */
  #ended = { done: 0, failed: 0 };
  /** Whether nothing more is sent until a pause that the server asked for is over. */
  #pauses = false;
  readonly #stops = new Map<number, AbortController>();
  readonly #followers = new Set<() => void>();

  constructor(dealId: Id, onDone: () => void) {
    this.#dealId = dealId;
    this.#onDone = onDone;
  }

  readonly read = (): readonly Upload[] => this.#uploads;

  readonly follow = (follower: () => void): (() => void) => {
    this.#followers.add(follower);
    return () => {
      this.#followers.delete(follower);
      this.#forgetSettled();
    };
  };

  readonly add = (files: readonly File[], about: AboutFiles): void => {
    const added = files.map((file): Upload => {
      this.#lastId += 1;
      return { id: this.#lastId, file, about, state: 'waiting', sent: 0, message: null, interrupted: false };
    });
    this.#keep([...this.#uploads, ...added]);
    this.#advance();
  };

  readonly stop = (id: number): void => {
    const running = this.#stops.get(id);
    if (running) running.abort();
    else this.#change(id, { state: 'stopped' });
  };

  readonly retry = (id: number): void => {
    this.#change(id, { state: 'waiting', sent: 0, message: null, interrupted: false });
    this.#advance();
  };

  /** Sends all files again whose upload was interrupted. */
  readonly retryInterrupted = (): void => {
    for (const { id, interrupted } of this.#uploads) if (interrupted) this.retry(id);
  };

  /** Removes the uploads that have ended, successfully or not, from the list. */
  readonly clear = (): void => this.#keep(this.#uploads.filter(isUnderWay));

  /** Stops and removes all uploads. */
  readonly end = (): void => {
    this.#keep([]);
    this.#ended = { done: 0, failed: 0 };
    for (const stop of this.#stops.values()) stop.abort();
  };

  /** While the list is not shown, keeps only uploads that are in progress or have failed. */
  #forgetSettled(): void {
    if (this.#followers.size > 0) return;
    this.#uploads = this.#uploads.filter((one) => isUnderWay(one) || one.state === 'failed');
  }

  #keep(uploads: readonly Upload[]): void {
    this.#uploads = uploads;
    this.#forgetSettled();
    for (const follower of this.#followers) follower();
  }

  #change(id: number, part: Partial<Upload>): void {
    this.#keep(this.#uploads.map((one) => (one.id === id ? { ...one, ...part } : one)));
  }

  #fail({ id, file }: Upload, message: string, interrupted = false): void {
    this.#change(id, { state: 'failed', message, interrupted });
    this.#ended.failed += 1;
    if (this.#followers.size === 0)
      toast(`${file.name} could not be uploaded. The deal’s documents show why.`, { tone: 'bad' });
  }

  #advance(): void {
    while (!this.#pauses && this.#uploads.filter(({ state }) => state === 'sending').length < parallel) {
      const next = this.#uploads.find(({ state }) => state === 'waiting');
      if (!next) break;
      void this.#send(next);
    }
    if (!this.#uploads.some(isUnderWay)) this.#sayEnd();
  }

  #pause(seconds: number): void {
    if (this.#pauses) return;
    this.#pauses = true;
    setTimeout(
      () => {
        this.#pauses = false;
        this.#advance();
      },
      (seconds + Math.random()) * 1_000,
    );
  }

  #sayEnd(): void {
    const { done, failed } = this.#ended;
    this.#ended = { done: 0, failed: 0 };
    const said = [
      ...(done > 0 ? [`${plural(done, 'file')} uploaded.`] : []),
      ...(failed > 0 ? [`${plural(failed, 'file')} could not be uploaded.`] : []),
    ];
    if (said.length > 0) announce(said.join(' '));
  }

  async #send(one: Upload): Promise<void> {
    const { id, file, about } = one;
    const fault = faultOf(file);
    if (fault !== null) {
      this.#fail(one, fault);
      return;
    }
    const stop = new AbortController();
    this.#stops.set(id, stop);
    this.#change(id, { state: 'sending', sent: 0, message: null });
    try {
      await upload('/web/deals/:id/documents', file, {
        param: { id: this.#dealId },
        query: {
          filename: file.name,
          category: about.category,
          confidentiality: about.confidentiality,
          diligence_request: about.request.trim() || null,
        },
        signal: stop.signal,
        onProgress: (sent) => this.#change(id, { sent }),
      });
      this.#change(id, { state: 'done', sent: file.size });
      this.#ended.done += 1;
      this.#onDone();
    } catch (error) {
      const seconds = pauseAfter(error);
      if (stop.signal.aborted) this.#change(id, { state: 'stopped' });
      else if (seconds !== null) {
        this.#change(id, { state: 'waiting', sent: 0, message: 'Too many files are being sent: this one follows.' });
        this.#pause(seconds);
      } else if (error instanceof ApiError) this.#fail(one, error.message, error.code === 'unreachable');
      else this.#fail(one, 'The upload failed.');
    } finally {
      this.#stops.delete(id);
      this.#advance();
    }
  }
}

const queues = new Map<Id, UploadQueue>();

/**
 * The uploads to a deal's data room, including those started when its page was shown before. `onDone` is called after
 * each successful upload.
 */
export function uploadsTo(dealId: Id, onDone: () => void): UploadQueue {
  const queue = queues.get(dealId) ?? new UploadQueue(dealId, onDone);
  queues.set(dealId, queue);
  return queue;
}

/** Whether a file is being uploaded to any deal or waiting to be. */
export const isUploading = (): boolean => [...queues.values()].some((queue) => queue.read().some(isUnderWay));

/** Stops and removes all uploads, when the person signs out. */
export function forgetUploads(): void {
  for (const queue of queues.values()) queue.end();
  queues.clear();
}
