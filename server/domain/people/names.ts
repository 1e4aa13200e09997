/** What the names of people and brokerages have in common: they stand in mails, on consent pages and in other people's lists. */

const controls = String.raw`\u0000-\u001f\u007f-\u009f`;

/** A name of one line, without control characters: written so that it means the same in the engines that read the OpenAPI document. */
export const oneLine = new RegExp(`^[^${controls}]*$`);

const directions = String.raw`\u202a-\u202e\u2066-\u2069`;

/** A name without signs that turn the direction of writing, and with it what stands beside the name. */
export const keepsDirection = new RegExp(`^[^${directions}]*$`);

/** A text without such signs. */
export const withoutDirections = (text: string): string => text.replaceAll(new RegExp(`[${directions}]`, 'g'), '');
