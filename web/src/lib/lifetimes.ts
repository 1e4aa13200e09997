/** How long things last, in words. Words that are not the server's are an error of types. */

import type { SharedBounds } from '../api/shapes.ts';

export const lifetimes: SharedBounds['lifetimes'] = {
  invitation: '14 days',
  mailedLink: '30 minutes',
  change: '30 days',
  delivery: '30 days',
  failingWebhook: 'three days',
};
