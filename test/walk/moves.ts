/** What people may do, and what it changes: each step of the walk as the pages say it, and as the server sends it. */

import { ofClients } from './moves-clients.ts';
import { editsDeal, ofDeals } from './moves-deals.ts';
import { ofRecords } from './moves-records.ts';
import type { Make } from './step.ts';

/** Makes the move of each kind of step. */
export const makers: Readonly<Record<string, Make>> = { ...ofDeals, ...ofRecords, ...ofClients, ...editsDeal };

/** Steps that nobody takes: time passes, and the server writes down what it has done. */
export const ofTime = ['wait', 'sweep'];

/** How often each kind of step is taken, beside the others. */
export const weights: Readonly<Record<string, number>> = {
  invite: 4,
  answerInvitation: 6,
  sendNda: 3,
  signNda: 5,
  grantExclusivity: 3,
  moveDeal: 4,
  ask: 3,
  moveQuestion: 6,
  answerContradiction: 3,
  moveContradictionAnswer: 4,
  upload: 3,
  changeDocument: 4,
  openDeal: 2,
  wait: 2,
};
