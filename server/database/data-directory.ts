/** DATA_DIR: one Dealkeep at a time, and the passwords of the embedded PostgreSQL. */

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isWithoutRoom, namingPlace } from '../lib/full-disk.ts';
import { reasonOf } from '../lib/reason.ts';
import { UnusableDatabase } from './client.ts';

/** Another process uses the same directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse';
}

export interface Passwords {
  readonly owner: string;
  readonly server: string;
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (error.errcode === 5 || error.errcode === 6);
}

function lastHolder(file: string): string {
  try {
    return ` (process ${readFileSync(file, 'utf8').trim()})`;
  } catch {
    return '';
  }
}

function openLock(directory: string): DatabaseSync {
  try {
    // As root, PostgreSQL runs as another user, who needs search permission; secret files have modes of their own.
    mkdirSync(directory, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    return new DatabaseSync(path.join(directory, 'dealkeep.lock'));
  } catch (error) {
    if (isWithoutRoom(error)) throw namingPlace(error, directory);
    throw new UnusableDatabase(
      `DATA_DIR: ${directory} cannot be used (${reasonOf(error)}). Set it to a directory that this user may write to.`,
      { cause: error },
    );
  }
}

/**
 * Locks `directory`, created when missing, for this process until the returned function is called or the process ends
 * in any way. Throws {@link DirectoryInUse} when another process has locked it.
 *
 * The lock is the kernel's, on an SQLite file: Node offers no other way to take one, and unlike a file with a process
 * id it cannot be left behind by kill -9, nor taken by two processes at once.
 */
export function takeDirectory(directory: string): () => void {
  const holder = path.join(directory, 'dealkeep.pid');
  const lock = openLock(directory);
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (!isLocked(error)) throw namingPlace(error, directory);
    throw new DirectoryInUse(
      `Dealkeep is already running on ${directory}${lastHolder(holder)}. Stop it first, or set DATA_DIR and PORT to others.`,
    );
  }
  try {
    writeFileSync(holder, `${process.pid}\n`);
  } catch (error) {
    lock.close();
    throw namingPlace(error, directory);
  }
  return () => {
    if (lock.isOpen) lock.close();
  };
}

const passwordsFile = (directory: string): string => path.join(directory, 'postgres-passwords.json');

/**
 * Returns the id of the user who owns the embedded PostgreSQL in `directory`: the owner of its passwords file.
 * Undefined when there is none yet.
 */
export const ownerIn = (directory: string): number | undefined =>
  statSync(passwordsFile(directory), { throwIfNoEntry: false })?.uid;

/** Returns the passwords kept in `directory`, generated at the first call. */
export function passwordsIn(directory: string): Passwords {
  const file = passwordsFile(directory);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Passwords;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const made = { owner: randomBytes(24).toString('base64url'), server: randomBytes(24).toString('base64url') };
  try {
    writeFileSync(file, JSON.stringify(made), { mode: 0o600, flush: true });
  } catch (error) {
    // Part of it would be taken for the passwords at the next start.
    rmSync(file, { force: true });
    throw namingPlace(error, directory);
  }
  chmodSync(file, 0o600);
  return made;
}
