/** The kinds of pending tasks: their label, and the tab on which they are done. */
import {
  CalendarClock,
  FilePen,
  FileSignature,
  Flag,
  HandCoins,
  Inbox,
  MailCheck,
  MessageCircleQuestion,
  MessageSquareReply,
  Send,
  type LucideIcon,
} from 'lucide-react';
import type { QueueKind } from '../api/shapes.ts';
import type { PagePath } from '../paths.ts';
import { plural } from './format.ts';

interface Queue {
  icon: LucideIcon;
  say: (count: number) => string;
  to: Extract<PagePath, `/deals/$dealId/${string}`>;
}

export const queues: Record<QueueKind, Queue> = {
  questions_to_review: {
    icon: MessageCircleQuestion,
    say: (count) => `${plural(count, 'question')} to review`,
    to: '/deals/$dealId/questions',
  },
  questions_to_answer: {
    icon: MessageSquareReply,
    say: (count) => `${plural(count, 'question')} to answer`,
    to: '/deals/$dealId/questions',
  },
  answers_to_distribute: {
    icon: Send,
    say: (count) => `${plural(count, 'answer')} to send`,
    to: '/deals/$dealId/questions',
  },
  answers_to_read: {
    icon: MailCheck,
    say: (count) => `${plural(count, 'new answer')} to read`,
    to: '/deals/$dealId/questions',
  },
  ndas_to_sign: {
    icon: FileSignature,
    say: (count) => (count === 1 ? 'An NDA to sign' : `${plural(count, 'NDA')} to sign`),
    to: '/deals/$dealId/nda',
  },
  ndas_unsigned: {
    icon: Inbox,
    say: (count) => `${plural(count, 'NDA')} not signed yet`,
    to: '/deals/$dealId/nda',
  },
  offers_to_consider: {
    icon: HandCoins,
    say: (count) => `${plural(count, 'offer')} to consider`,
    to: '/deals/$dealId/offers',
  },
  offer_changes_to_decide: {
    icon: FilePen,
    say: (count) =>
      count === 1
        ? 'A change to the accepted terms to decide on'
        : `${plural(count, 'change')} to the accepted terms to decide on`,
    to: '/deals/$dealId/offers',
  },
  offer_changes_with_broker: {
    icon: FilePen,
    say: () => 'A change to the accepted terms is waiting for the broker',
    to: '/deals/$dealId/offers',
  },
  conditions_due: {
    icon: CalendarClock,
    say: (count) => `${plural(count, 'closing condition')} due`,
    to: '/deals/$dealId/closing',
  },
  findings_open: {
    icon: Flag,
    say: (count) => `${plural(count, 'open finding')} assigned to you`,
    to: '/deals/$dealId/findings',
  },
};
