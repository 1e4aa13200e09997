/** Questions that the buyer and their accountant asked about the HVAC contractor, in various states. */

import { ago } from '../../relative-times.ts';
import type { Question } from '../../deal-types.ts';

export const questions: readonly Question[] = [
  {
    category: 'customers',
    by: 'elena',
    asked: ago(40, '14:12'),
    status: 'distributed',
    text: 'The school district is around 14% of the last twelve months. Is that one contract or many work orders, when was it last bid, and does it survive a change of ownership?',
    answer: {
      by: 'ron',
      at: ago(38, '19:31'),
      text: "It's a three year maintenance agreement for 11 buildings plus whatever they call us out for. About 40/60, the call-outs are the bigger part. We bid it two years ago against four others and were second lowest. There is an assignment clause, they have to say yes in writing but their facilities guy Wes told me they don't care who signs the checks as long as Dale still shows up.",
    },
    response: {
      at: ago(37, '15:02'),
      text: "It is a three-year maintenance agreement covering 11 buildings, with call-out work on top; the split is roughly 40% agreement and 60% call-outs. It was last bid two years ago against four other contractors. Assignment needs the district's written consent, which is on the list of closing conditions. The seller does not expect an objection as long as the lead technician stays.",
    },
  },
  {
    category: 'employees',
    by: 'elena',
    asked: ago(40, '14:25'),
    status: 'distributed',
    text: 'How many of the field technicians hold their own journeyman or EPA 608 certification, and how many are still apprentices? Who holds the contractor license the company works under?',
    answer: {
      by: 'ron',
      at: ago(36, '21:10'),
      text: '19 in the field. 12 journeymen all with 608 universal, 5 apprentices (3rd and 4th year mostly), 2 sheet metal guys. License is mine, which I know is the thing you worry about. Dale sat for his last spring and passed so he can be the qualifier day one.',
    },
    response: {
      at: ago(35, '14:40'),
      text: "There are 19 in the field: 12 journeymen (all with EPA 608 Universal), 5 apprentices, most in their third or fourth year, and 2 sheet-metal workers. The license is in the owner's name today. The service manager passed the examination last spring and can become the qualifying individual at closing; the transfer is a closing condition.",
    },
  },
  {
    category: 'financials',
    by: 'tobias',
    asked: ago(34, '18:50'),
    status: 'distributed',
    text: 'Gross margin dips by about two points in January and April of each year. Is that overtime on no-heat calls, or are annual vendor rebates booked in other months?',
    answer: {
      by: 'ron',
      at: ago(31, '20:05'),
      text: 'Both. January is overtime, every cold snap we run two crews around the clock. April is when we do the big filter and belt changeouts so a lot of material goes out the door and the billing for it is spread over the quarter. Rebates come in October and Linda puts them against materials when the check arrives.',
    },
    response: {
      at: ago(30, '16:20'),
      text: 'January carries overtime for no-heat calls. In April most of the filter and belt material for the spring changeouts is expensed while the agreements bill evenly over the quarter. Vendor rebates are recorded against materials when received, normally in October. A schedule of rebates by month is in the production folder.',
    },
  },
  {
    category: 'real_estate',
    by: 'elena',
    asked: ago(29, '15:18'),
    status: 'distributed',
    text: "The building is owned by the seller's family entity. Would they sign a five-year lease with two renewals at the current rent, and would they give us a right of first refusal if they ever sell it?",
    answer: {
      by: 'ron',
      at: ago(27, '18:44'),
      text: "Five years with two fives is fine. Rent goes to market though, we've been charging the company less than we could because it was all one pocket. The appraiser said 8.75 a foot, we pay ourselves 7. First refusal yes.",
    },
    response: {
      at: ago(26, '15:35'),
      text: 'Yes to five years with two five-year renewals and to a right of first refusal. The rent would move to market: the appraisal on file supports $8.75 a square foot against $7.00 today. That difference is already in the add-back schedule as a negative adjustment.',
    },
  },
  {
    category: 'operations',
    by: 'elena',
    asked: ago(24, '13:55'),
    status: 'distributed',
    text: 'Of the 14 vans, how many are past 150,000 miles, and what does the company normally spend on replacing vehicles in a year?',
    answer: {
      by: 'ron',
      at: ago(21, '22:02'),
      text: 'Four are over 150. We buy two a year, used, about 38 to 42 thousand each upfitted. Skipped last year because of the sale so figure three next year.',
    },
    response: {
      at: ago(20, '14:15'),
      text: 'Four of the 14. The company buys two upfitted used vans a year at $38,000 to $42,000 each. None were bought last year, so plan for three in the first year.',
    },
  },
  {
    category: 'legal',
    by: 'elena',
    asked: ago(17, '16:48'),
    status: 'answered',
    moved: ago(11, '20:26'),
    text: 'Please describe the dispute with the former estimator: what was claimed, how it ended, and whether anything is still owed or could be reopened.',
    answer: {
      by: 'ron',
      at: ago(11, '20:26'),
      text: "Kyle left for a competitor and took a bid file with him, his attorney says he didn't. We sued to enforce the non-compete, spent sixty some thousand, and settled. He stays out of our school and county accounts for two years, nobody paid anybody. It's signed and dismissed. Meredith has the papers.",
    },
  },
  {
    category: 'customers',
    by: 'elena',
    asked: ago(13, '15:07'),
    status: 'with_seller',
    moved: ago(12, '14:30'),
    text: 'Larkhill Data Halls appears only in the last twelve months. Is it a recurring agreement or a one-time commissioning job, and what is contracted for the next twelve months?',
  },
  {
    category: 'tax',
    by: 'tobias',
    asked: ago(9, '19:22'),
    status: 'with_seller',
    moved: ago(8, '13:48'),
    text: 'Was sales tax collected on the equipment portion of lump-sum replacement contracts, and has the state ever audited that? We see use tax accrued in some months and not in others.',
  },
  {
    category: 'technology',
    by: 'elena',
    asked: ago(5, '14:36'),
    status: 'pending_broker_review',
    text: 'Which dispatch and service-agreement software does the company use, is the license transferable, and can agreement history be exported with dates and prices?',
  },
  {
    category: 'transaction',
    by: 'elena',
    asked: ago(2, '20:14'),
    status: 'pending_broker_review',
    text: 'Our lender asks for a 24-month consulting commitment from the seller instead of 12. Would he consider 12 months full time followed by 12 months on call?',
  },
  {
    category: 'employees',
    by: 'elena',
    asked: ago(33, '17:29'),
    status: 'rejected',
    moved: ago(32, '14:03'),
    rejection:
      'The technicians do not know about the sale yet, and the NDA rules out contacting them. We will set up meetings with the service manager and the two foremen once the financing condition is waived.',
    text: 'Could we speak with four or five of the technicians this week, without management in the room?',
  },
  {
    category: 'other',
    by: 'elena',
    asked: ago(22, '18:05'),
    status: 'withdrawn',
    moved: ago(22, '21:40'),
    text: "Is there a written safety program and an experience modification rate from the workers' compensation carrier? (Found both in the data room, sorry.)",
  },
];
