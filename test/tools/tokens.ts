/** How many tokens a model reads. */

import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { anyId } from '../ids.ts';

const ofId = 23;

/**
 * The number of tokens (o200k) in a text. An id counts as 23, the average: an id takes 17 to 31, and ids with the same
 * beginning, such as those created at the same time, all take more or all take fewer.
 */
export const tokensIn = (text: string): number =>
  encode(text.replaceAll(anyId, '')).length + ofId * (text.match(anyId)?.length ?? 0);
