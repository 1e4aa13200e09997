/** Numbers with their nouns, in sentences. */

/** "1 month", "3 months"; `many` is the plural where it is not formed with "s". */
export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
