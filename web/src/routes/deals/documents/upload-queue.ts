/** Sends files, a few at a time, and notifies followers of the state of each. */
import { ApiError } from '../../../api/client.ts';
import type { Progress } from '../../../api/upload.ts';

export interface Upload {
  id: number;
  file: File;
  state: 'waiting' | 'sending' | 'done' | 'failed' | 'stopped';
  /** Bytes so far. */
  sent: number;
  /** Why it failed, for the person. */
  message: string | null;
}

export interface UploadsOptions<T> {
  /** Sends a file, when its turn comes. */
  send: (file: File, progress: Progress) => Promise<T>;
  /** Why a file need not be sent at all, for the person; null when there is no such reason. */
  check?: (file: File) => string | null;
  onDone?: (answer: T, file: File) => void;
}

const parallel = 3;

/** Uploads that run a few at a time, whose progress a component follows. */
export class UploadQueue<T> {
  #options: UploadsOptions<T>;
  #uploads: readonly Upload[] = [];
  #lastId = 0;
  readonly #stops = new Map<number, AbortController>();
  readonly #followers = new Set<() => void>();

  constructor(options: UploadsOptions<T>) {
    this.#options = options;
  }

  /** Goes on with other options, which hold for files whose turn is yet to come. */
  readonly goOnWith = (options: UploadsOptions<T>): void => {
    this.#options = options;
  };

  readonly read = (): readonly Upload[] => this.#uploads;

  readonly follow = (follower: () => void): (() => void) => {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  };

  readonly add = (files: readonly File[]): void => {
    const added = files.map((file): Upload => {
      this.#lastId += 1;
      return { id: this.#lastId, file, state: 'waiting', sent: 0, message: null };
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
    this.#change(id, { state: 'waiting', sent: 0, message: null });
    this.#advance();
  };

  /** Takes what is finished, one way or the other, off the list. */
  readonly clear = (): void => {
    this.#keep(this.#uploads.filter(({ state }) => state === 'waiting' || state === 'sending'));
  };

  #keep(uploads: readonly Upload[]): void {
    this.#uploads = uploads;
    for (const follower of this.#followers) follower();
  }

  #change(id: number, part: Partial<Upload>): void {
    this.#keep(this.#uploads.map((one) => (one.id === id ? { ...one, ...part } : one)));
  }

  #advance(): void {
    const sending = this.#uploads.filter(({ state }) => state === 'sending').length;
    const next = this.#uploads.filter(({ state }) => state === 'waiting').slice(0, parallel - sending);
    for (const one of next) void this.#send(one);
  }

  async #send({ id, file }: Upload): Promise<void> {
    const fault = this.#options.check?.(file) ?? null;
    if (fault !== null) {
      this.#change(id, { state: 'failed', message: fault });
      return;
    }
    const stop = new AbortController();
    this.#stops.set(id, stop);
    this.#change(id, { state: 'sending', sent: 0, message: null });
    const onProgress = (sent: number) => this.#change(id, { sent });
    try {
      const answer = await this.#options.send(file, { signal: stop.signal, onProgress });
      this.#change(id, { state: 'done', sent: file.size });
      this.#options.onDone?.(answer, file);
    } catch (error) {
      if (stop.signal.aborted) this.#change(id, { state: 'stopped' });
      else {
        this.#change(id, {
          state: 'failed',
          message: error instanceof ApiError ? error.message : 'The upload failed.',
        });
      }
    } finally {
      this.#stops.delete(id);
      this.#advance();
    }
  }
}
