/** Ids in texts. */

/** Matches each id. Ids are in lower case in responses. */
export const anyId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
