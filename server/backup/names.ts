/**
 * The names of the files in a backup destination:
 *
 *   backup-20261122T080000Z-1a2b3c4d/rows        the rows of the database
 *   backup-20261122T080000Z-1a2b3c4d/documents   the list of its bodies: key, size, SHA-256
 *   backup-20261122T080000Z-1a2b3c4d/manifest    describes the other two; written last, so that its presence marks the backup as complete
 *   documents/ab/…, documents-5e6f7a8b/ab/…      bodies, shared by all backups: unencrypted, or encrypted with the key 5e6f7a8b
 *
 * The last part of a backup's name identifies its database.
 */

import { checkedKey, isStorageKey } from '../storage/storage.ts';
import type { BackupKey } from '../lib/backup-key.ts';

const shape = /^backup-(\d{8}T\d{6}Z)-([0-9a-f]{8})$/;

/** The name of a backup made at this time; names sort by time. */
export const backupName = (at: Date, series: string): string =>
  `backup-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${series}`;

/** The id of the database that a backup is of; null for other names. */
export const seriesOf = (name: string): string | null => shape.exec(name)?.[2] ?? null;

/** When a backup was made. */
export function madeAt(name: string): Date {
  const stamp = shape.exec(name)?.[1] ?? '';
  return new Date(stamp.replace(/^(.{4})(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
}

/** How far the clocks of machines may be apart, in milliseconds. */
const clocksApart = 10 * 60_000;

/** Whether a backup is dated in the future: the clock was wrong when it was made, or is now. */
export const isFromFuture = (name: string, now = new Date()): boolean =>
  madeAt(name).getTime() - now.getTime() > clocksApart;

const files = ['rows', 'documents', 'manifest'] as const;
const isFile = (name: string): boolean => (files as readonly string[]).includes(name);

/** The name of a file of a backup. */
export const fileOf = (backup: string, file: (typeof files)[number]): string => `${backup}/${file}`;

/** The folder of the bodies encrypted with this key, or of unencrypted bodies. */
export const bodiesFolder = (key: BackupKey | null): string => (key ? `documents-${key.id}` : 'documents');

/** The key id of a folder of bodies, null for unencrypted ones; undefined when this is not a folder of bodies. */
export function keyIdOfFolder(folder: string): string | null | undefined {
  const [found, id = null] = /^documents(?:-([0-9a-f]{8}))?$/.exec(folder) ?? [];
  return found === undefined ? undefined : id;
}

/** The storage key of the body stored under this name; null when {@link bodyName} never returns this name. */
export function keyOfBody(name: string): string | null {
  const [folder = '', part, storageKey = '', ...more] = name.split('/');
  const isBody = keyIdOfFolder(folder) !== undefined && more.length === 0 && isStorageKey(storageKey);
  return isBody && part === storageKey.slice(-2) ? storageKey : null;
}

/** The name under which a backup stores the body of a document. */
export const bodyName = (key: BackupKey | null, storageKey: string): string =>
  `${bodiesFolder(key)}/${checkedKey(storageKey).slice(-2)}/${storageKey}`;

/** Whether this is a name that backups use; the destination may hold other files. */
export function isOfBackup(name: string): boolean {
  const [folder = '', file = '', ...more] = name.split('/');
  return keyOfBody(name) !== null || (seriesOf(folder) !== null && isFile(file) && more.length === 0);
}

/** Whether this is the name of an unfinished file in a folder; its last part is random. */
export function isUnfinished(name: string): boolean {
  const [, file = ''] = /^(.+)\.[0-9a-f]{12}$/.exec(name) ?? [];
  return isFile(file) || isStorageKey(file);
}
