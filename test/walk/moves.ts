/**
 * What people may do, and what it changes: for each step of the walk, the rule from the documentation and the
 * statements that the server sends.
 */

import { ofClients } from './moves-clients.ts';
import { editsDeal, ofDeals } from './moves-deals.ts';
import { ofRecords } from './moves-records.ts';
import type { Make } from './step.ts';

/** The functions that make the moves, by kind of step. */
export const makers: Readonly<Record<string, Make>> = { ...ofDeals, ...ofRecords, ...ofClients, ...editsDeal };

/** Steps that nobody takes: time passes, or the server stores what has expired. */
export const ofTime = ['wait', 'sweep'];

/** How often each kind of step is taken, relative to the others; defaults to 1. */
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
