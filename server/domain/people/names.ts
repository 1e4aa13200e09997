/** What the names of people and brokerages have in common: they stand in mails, on consent pages and in other people's lists. */

/** A name of one line. */
export const oneLine = /^\P{Cc}*$/u;

/** A name without signs that turn the direction of writing, and with it what stands beside the name. */
export const keepsDirection = /^[^\u202a-\u202e\u2066-\u2069]*$/;
