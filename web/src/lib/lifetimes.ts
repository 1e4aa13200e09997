/** Durations in words. Words that differ from the server's are a type error. */

import type { SharedBounds } from '../api/shapes.ts';

export const lifetimes: SharedBounds['lifetimes'] = {
  invitation: '14 days',
  mailedLink: '30 minutes',
  change: '30 days',
  delivery: '30 days',
  failingWebhook: 'three days',
};
