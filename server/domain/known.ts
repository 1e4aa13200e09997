/** Whom a record names, as far as the caller may know of them. */

/** The id in a column, or null where it is of somebody whom the caller does not see: a buyer learns of no other buyer by it. */
export const known = (column: string): string => `(select known.id from users known where known.id = ${column})`;
