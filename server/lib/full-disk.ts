/** Errors that say that a file system or a quota is full. */

/** There is no room left; the message names the place. */
class NoRoomLeft extends Error {
  override readonly name = 'NoRoomLeft';
  readonly code = 'ENOSPC';
}

/** SQLITE_FULL. */
const sqliteFull = 13;

/** Whether an error, of a file or of an SQLite database, says that a file system or a quota is full. */
export const isWithoutRoom = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) ||
    ('errcode' in error && error.errcode === sqliteFull));

/** The error, or one that names `place` when there is no room left in it: an error of a write names no file. */
export const namingPlace = (error: unknown, place: string): unknown =>
  isWithoutRoom(error) && !(error instanceof NoRoomLeft)
    ? new NoRoomLeft(`There is no room left in ${place}.`, { cause: error })
    : error;
