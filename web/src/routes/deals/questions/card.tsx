import { useId } from 'react';
import { useQuestionActions } from '../../../api/questions.ts';
import { useIsNew } from '../../../api/visits.ts';
import type { Question } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { NewBadge } from '../../../components/new-badge.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { cx } from '../../../lib/cx.ts';
import { questionCategories, questionNotAnswered, questionStates } from '../../../lib/states.ts';
import { useDeal } from '../context.ts';
import { useOwnPart } from '../own-role.tsx';
import { RemindButton } from '../remind-button.tsx';
import type { QuestionStep } from './dialogs.tsx';

interface QuestionCardProps {
  question: Question;
  /** Opens the dialog of a step. */
  onStep: (step: QuestionStep, question: Question) => void;
}

/** One question with its answer as the caller may read it, and the caller's current actions. */
export function QuestionCard({ question, onStep }: QuestionCardProps) {
  const confirm = useConfirm();
  const text = useId();
  const why = useId();
  const about = { 'aria-describedby': text };
  const { release, withdraw } = useQuestionActions(question.deal_id);
  const can = new Set(question.actions);
  const page = useDeal();
  const { deal, side, capacities, participants } = page;
  // Not by the side: what whom they advise wrote is new to an advisor.
  const own = useOwnPart(page)?.role;
  const isNew = useIsNew(question.deal_id, 'questions');
  const hasSeller = participants.some(({ role, status }) => role === 'seller' && status === 'active');
  const isOver = deal.state === 'closed' || deal.state === 'withdrawn';
  const isOpen = question.status === 'pending_broker_review' || question.status === 'with_seller';
  const isUnawaited = (isOpen || question.status === 'answered') && !question.is_awaited;
  const waits =
    capacities.can_review_questions && question.status === 'with_seller' && hasSeller && question.is_awaited;
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-faint">
        <StatePill look={isOver && isOpen ? questionNotAnswered : questionStates[question.status]} />
        <Badge>{questionCategories[question.category]}</Badge>
        <span>
          {question.mine ? 'You' : (question.asked_by_name ?? 'A buyer')} asked <Time at={question.asked_at} />
        </span>
        {isUnawaited && <span>The buyer has left: nobody waits for an answer.</span>}
        {isNew(question.asked_at, question.mine) && <NewBadge />}
      </div>
      <p id={text} className="mt-3 max-w-3xl break-words whitespace-pre-wrap text-ink">
        {question.question_text}
      </p>
      {question.answer_text !== null && question.answer_text !== question.distributed_response && (
        <Said
          draft
          title="The seller’s answer"
          isNew={isNew(question.corrected_at ?? question.answered_at, own === 'seller')}
          at={question.answered_at}
          correctedAt={question.corrected_at}
          text={question.answer_text}
        />
      )}
      {question.distributed_response !== null && (
        <Said
          title={side === 'buyer' ? 'Answer' : 'Sent to the buyer'}
          isNew={isNew(question.distributed_at, own === 'broker')}
          at={question.distributed_at}
          text={question.distributed_response}
        />
      )}
      {question.rejection_reason !== null && (
        <Said title="Reason for rejecting it" at={null} text={question.rejection_reason} />
      )}
      {(can.size > 0 || waits) && (
        <div className="mt-4 flex flex-wrap items-center gap-2">
          {can.has('release') && (
            <Button
              aria-describedby={hasSeller ? text : `${text} ${why}`}
              kind="primary"
              disabled={!hasSeller}
              pending={release.isPending}
              onClick={() =>
                // The card moves to another list before the response arrives and is unmounted; the promise continues.
                void release.mutateAsync({ id: question.id }).then(() => toast('Released to the seller'), toastError)
              }
            >
              Release to seller
            </Button>
          )}
          {can.has('answer') && (
            <Button
              {...about}
              kind={question.status === 'with_seller' ? 'primary' : 'secondary'}
              onClick={() => onStep('answer', question)}
            >
              {question.status === 'with_seller' ? 'Answer' : 'Correct the answer'}
            </Button>
          )}
          {can.has('distribute') && (
            <Button {...about} kind="primary" onClick={() => onStep('distribute', question)}>
              Send the answer
            </Button>
          )}
          {waits && <RemindButton subject="questions" id={question.id} of="this question" />}
          {can.has('reject') && (
            <Button {...about} onClick={() => onStep('reject', question)}>
              Reject
            </Button>
          )}
          {can.has('withdraw') && (
            <Button
              {...about}
              onClick={() =>
                confirm(
                  {
                    title: 'Withdraw this question?',
                    body: 'The broker no longer reviews it. You can ask again.',
                    action: 'Withdraw',
                    done: 'Question withdrawn',
                  },
                  () => withdraw.mutateAsync({ id: question.id }),
                )
              }
            >
              Withdraw
            </Button>
          )}
          {can.has('release') && !hasSeller && (
            <span id={why} className="text-sm text-faint">
              No seller is on this deal to answer: invite one, who must accept first.
            </span>
          )}
        </div>
      )}
    </Card>
  );
}

interface SaidProps {
  title: string;
  at: string | null;
  correctedAt?: string | null;
  text: string;
  isNew?: boolean;
  /** Whether the buyer does not read the text in this form. */
  draft?: boolean;
}

function Said({ title, at, correctedAt = null, text, isNew = false, draft = false }: SaidProps) {
  return (
    <div className={cx('mt-4 max-w-3xl border-l-2 pl-4', draft ? 'border-edge' : 'border-accent')}>
      <p className="text-sm text-faint">
        {title}
        {at !== null && (
          <>
            , <Time at={at} />
          </>
        )}
        {correctedAt !== null && (
          <>
            , corrected <Time at={correctedAt} />
          </>
        )}
        {isNew && <NewBadge className="ml-2" />}
      </p>
      <p className={cx('mt-1 break-words whitespace-pre-wrap', draft ? 'text-soft' : 'text-ink')}>{text}</p>
    </div>
  );
}
