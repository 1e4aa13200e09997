/** The secret with which cursors of lists are sealed. */

import { mapped, row, type Statement } from './statement.ts';

const secret = row<{ secret: Buffer }, []>('cursor_secret', 'select app.cursor_secret() as secret');

/** 32 bytes, made with the database and the same for every node. */
export const cursorSecret: Statement<Buffer> = mapped(secret(), (found) => {
  if (found === null) throw new Error('The database has no cursor secret.');
  return found.secret;
});
