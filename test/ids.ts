/** Ids, as they stand in texts. */

/** Each of them; in lower case, as they are answered. */
export const anyId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
