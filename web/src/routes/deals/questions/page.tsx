import { useQuery } from '@tanstack/react-query';
import { MessageCircleQuestion, Plus } from 'lucide-react';
import { useState } from 'react';
import { mostQuestions, questionsQuery, useReadAnswers } from '../../../api/questions.ts';
import { useVisit } from '../../../api/visits.ts';
import type { Question } from '../../../api/shapes.ts';
import { Button, ButtonLink } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { CutNote, EmptyState, Loaded, SkeletonCard } from '../../../components/states.tsx';
import { useDeal } from '../context.ts';
import { InviteBuyerLink } from '../invite-buyer-link.tsx';
import { AskDialog, StepDialog, type QuestionStep } from './dialogs.tsx';
import { QuestionCard } from './card.tsx';
import { TabPage } from '../tab-page.tsx';

/** The “Questions” tab of a deal: questions that wait for the caller first, then the others, latest first. */
export default function QuestionsTab() {
  const { deal, capacities, counts, side } = useDeal();
  const [asking, setAsking] = useState(false);
  // Kept here and not in the card: another person's step can move the card to the other group while somebody writes.
  const [open, setOpen] = useState<{ step: QuestionStep; question: Question } | null>(null);
  const query = useQuery(questionsQuery(deal.id));
  useVisit(deal.id, 'questions');
  useReadAnswers(deal.id, side === 'buyer' && query.isSuccess && (counts.questions_waiting ?? 0) > 0);
  const ask = capacities.can_ask && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setAsking(true)}>
      Ask a question
    </Button>
  );
  const sign = capacities.can_sign_nda && (
    <ButtonLink kind="primary" to="/deals/$dealId/nda" params={{ dealId: deal.id }}>
      Read and sign the NDA
    </ButtonLink>
  );
  return (
    <TabPage
      title="Questions"
      description={
        side === 'buyer'
          ? 'A broker reviews what you ask, the seller answers, and the broker sends you the answer.'
          : 'Buyers ask, a broker reviews, the seller answers, and the broker sends the answer back.'
      }
      actions={query.data?.items.length !== 0 && ask}
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={5} height="h-24" />}>
        {({ items }) =>
          items.length === 0 ? (
            <Card>
              <EmptyState
                icon={MessageCircleQuestion}
                title="No questions yet"
                action={ask || sign || <InviteBuyerLink />}
              >
                {capacities.can_ask
                  ? 'Ask about the books, the lease, the people: whatever you need to know before you decide.'
                  : side === 'buyer'
                    ? sign
                      ? 'Sign the NDA of this deal to ask questions.'
                      : 'Buyers who have signed an NDA can ask while the sale is open. A broker of the deal sends the NDA.'
                    : side === 'seller'
                      ? 'Questions show here once a broker has released them to you.'
                      : 'Questions from buyers under an NDA show here.'}
              </EmptyState>
            </Card>
          ) : (
            <>
              <Sorted questions={items} onStep={(step, question) => setOpen({ step, question })} />
              <CutNote items={items} most={mostQuestions}>
                questions: the open ones, and the latest of the others.
              </CutNote>
            </>
          )
        }
      </Loaded>
      {asking && <AskDialog dealId={deal.id} onClose={() => setAsking(false)} />}
      {open && <StepDialog {...open} onClose={() => setOpen(null)} />}
    </TabPage>
  );
}

/** Whether a question requires an action of the caller; withdrawing is optional and does not count. */
const waits = ({ actions, status, is_awaited }: Question): boolean =>
  is_awaited &&
  actions.some((action) => action !== 'withdraw') &&
  !(status === 'answered' && !actions.includes('distribute'));

interface QuestionsProps {
  questions: readonly Question[];
  onStep: (step: QuestionStep, question: Question) => void;
}

function Sorted({ questions, onStep }: QuestionsProps) {
  // On a withdrawn deal nothing waits any more, although answers can still be sent.
  const isOver = useDeal().deal.state === 'withdrawn';
  const waiting = isOver ? [] : questions.filter(waits);
  const rest = questions.filter((question) => !waiting.includes(question));
  return (
    <>
      <Group title="Waiting for you" questions={waiting} onStep={onStep} />
      <Group title={waiting.length > 0 ? 'All others' : 'All questions'} questions={rest} onStep={onStep} />
    </>
  );
}

function Group({ title, questions, onStep }: QuestionsProps & { title: string }) {
  if (questions.length === 0) return null;
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      <h3 className="text-sm font-semibold text-soft">
        {title} <span className="font-normal text-faint tabular">({questions.length})</span>
      </h3>
      <ul className="flex flex-col gap-3">
        {questions.map((question) => (
          <li key={question.id}>
            <QuestionCard question={question} onStep={onStep} />
          </li>
        ))}
      </ul>
    </section>
  );
}
