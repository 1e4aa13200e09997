/**
 * The contradictions in the uploaded books and the brokers' answers, as far as the reader may see them: buyers see
 * those released to them.
 */
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { sendAsRead } from '../../../api/as-read.ts';
import { computedQuery, useContradictionActions } from '../../../api/qoe.ts';
import type { Contradiction, ContradictionStatus, Id } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select, Textarea } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { SkeletonCard } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast } from '../../../components/toast.tsx';
import { formatCount } from '../../../lib/format.ts';
import { lengths } from '../../../lib/lengths.ts';
import { contradictionAnswers, contradictionAnswered, optionsOf } from '../../../lib/states.ts';
import { required, useForm, type Form } from '../../../lib/use-form.ts';

const quoted = 'border-l-2 border-line pl-4 break-words whitespace-pre-wrap text-soft';

type Answer = NonNullable<Contradiction['answer']>;

const saidBy = ({ status, answered_by_name }: Answer): string =>
  `${contradictionAnswered[status]}${answered_by_name === null ? '' : ` by ${answered_by_name}`}`;

interface AnswerValues {
  status: ContradictionStatus;
  why: string;
}

const valuesOf = ({ answer }: Contradiction): AnswerValues => ({
  status: answer?.status ?? 'explained',
  why: answer?.why ?? '',
});

/** Lets a broker answer a contradiction, or change the answer. */
function ExplainDialog({ dealId, one, onClose }: { dealId: Id; one: Contradiction; onClose: () => void }) {
  const { answer, current } = useContradictionActions(dealId);
  // The contradiction as the dialog shows it: a submission names the figures and the earlier answer that the broker has
  // read.
  const [read, setRead] = useState(one);
  const [gone, setGone] = useState(false);
  const form: Form<AnswerValues> = useForm<AnswerValues>({
    initial: valuesOf(one),
    draft: `contradiction/${dealId}/${one.key}`,
    check: (values) => required(values, { why: 'Write an answer.' }),
    submit: (values) => {
      const { key, figures } = read;
      const send = () => answer.mutateAsync({ key, figures, answered_at: read.answer?.answered_at ?? null, ...values });
      return sendAsRead(send, async () => {
        const now = await current(key);
        setGone(now === undefined);
        if (!now) return;
        setRead(now);
        const { status, why } = valuesOf(now);
        form.begin('status', status);
        form.begin('why', why);
      });
    },
    onDone: () => {
      onClose();
      toast(read.answer ? 'Answer changed' : 'Answer saved');
    },
  });
  return (
    <FormDialog
      title={read.answer ? 'Change the answer' : 'Explain these figures'}
      description="Brokers and sellers of the deal read it. Buyers read it once you release it."
      action={read.answer ? 'Change' : 'Explain'}
      form={form}
      onClose={onClose}
    >
      <blockquote className={quoted}>
        {read.sentence}
        {read.answer && `\n\n${saidBy(read.answer)}: ${read.answer.why}`}
      </blockquote>
      {gone && <Notice>The figures no longer contradict themselves here. There is nothing left to explain.</Notice>}
      {read.answer && read.answer.released_at !== null && !read.answer.of_other_figures && (
        <Notice>
          Buyers can read this answer. If you change it, they see neither the contradiction nor an answer until you
          release the new one.
        </Notice>
      )}
      <Field label="Answer" error={form.errors.status}>
        <Select<ContradictionStatus> {...form.field('status')} options={optionsOf(contradictionAnswers)} />
      </Field>
      <Field label="Why" error={form.errors.why}>
        <Textarea {...form.text('why')} rows={5} maxLength={lengths.contradiction_answers.why} />
      </Field>
    </FormDialog>
  );
}

/** An answer, by whom and when it was given, and whether buyers see it. */
function Said({ answer, all }: { answer: Answer; all: boolean }) {
  return (
    <div className="mt-2.5 max-w-prose border-l-2 border-accent pl-4">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-sm text-faint">
        <span>
          {saidBy(answer)}, <Time at={answer.answered_at} />
        </span>
        {answer.of_other_figures && <Badge tone="warn">Written before the figures changed</Badge>}
        {all && answer.released_at !== null && (
          <Badge tone="info">{answer.of_other_figures ? 'No longer seen by buyers' : 'Buyers see this'}</Badge>
        )}
      </p>
      <p className="mt-1 break-words whitespace-pre-wrap text-ink">{answer.why}</p>
    </div>
  );
}

interface LineProps {
  dealId: Id;
  one: Contradiction;
  /** Whether the reader sees all contradictions; `mayAnswer` says whether they may answer. */
  all: boolean;
  mayAnswer: boolean;
  onExplain: (one: Contradiction) => void;
}

function ContradictionLine({ dealId, one, all, mayAnswer, onExplain }: LineProps) {
  const { release, withdraw, takeBack } = useContradictionActions(dealId);
  const confirm = useConfirm();
  const sentence = useId();
  const { answer, key } = one;
  const about = { size: 'sm', 'aria-describedby': sentence } as const;
  const releaseIt = (given: Answer) =>
    confirm(
      {
        title: 'Release this to buyers?',
        body: (
          <>
            <p>Buyers and others who are in the workspace will read, with the figures that they see:</p>
            <blockquote className={`${quoted} mt-3 max-h-60 overflow-y-auto`}>
              {one.sentence}
              {'\n\n'}
              {contradictionAnswered[given.status]}: {given.why}
            </blockquote>
          </>
        ),
        action: 'Release to buyers',
        done: 'Released to buyers',
      },
      () => release.mutateAsync({ key, answered_at: given.answered_at }),
    );
  return (
    <li className="px-4 py-3 sm:px-5">
      <p id={sentence} className="max-w-prose break-words">
        {one.sentence}
      </p>
      {!answer && <p className="mt-0.5 max-w-prose text-sm break-words text-soft">{one.ask}</p>}
      {answer && <Said answer={answer} all={all} />}
      {mayAnswer && (
        <div className="mt-2.5 flex flex-wrap gap-2">
          <Button {...about} onClick={() => onExplain(one)}>
            {answer ? 'Change' : 'Explain'}
          </Button>
          {answer && answer.released_at === null && !answer.of_other_figures && (
            <Button {...about} onClick={() => releaseIt(answer)}>
              Release to buyers
            </Button>
          )}
          {answer && answer.released_at !== null && (
            <Button
              {...about}
              onClick={() =>
                confirm(
                  {
                    title: 'Withdraw this from buyers?',
                    body: answer.of_other_figures
                      ? 'Buyers have not seen it since the figures changed, and will not see it if the figures change back.'
                      : 'Buyers will no longer see the contradiction or your answer. Some may have read them already.',
                    action: 'Withdraw',
                    done: 'Withdrawn from buyers',
                  },
                  () => withdraw.mutateAsync(key),
                )
              }
            >
              Withdraw
            </Button>
          )}
          {answer && (
            <Button
              {...about}
              kind="quiet"
              onClick={() =>
                confirm(
                  {
                    title: 'Remove this answer?',
                    body:
                      answer.released_at === null
                        ? 'The contradiction will be unanswered again.'
                        : 'The contradiction will be unanswered again, and buyers will no longer see it.',
                    action: 'Remove',
                    danger: true,
                    done: 'Answer removed',
                  },
                  () => takeBack.mutateAsync({ key, answered_at: answer.answered_at }),
                )
              }
            >
              Remove
            </Button>
          )}
        </div>
      )}
    </li>
  );
}

interface ListedProps extends Omit<LineProps, 'one'> {
  title: string;
  description: string;
  found: { count: number; items: readonly Contradiction[] };
}

function Listed({ title, description, found: { count, items }, ...rest }: ListedProps) {
  if (count === 0) return null;
  return (
    <Card title={`${title} (${formatCount(count)})`} description={description} flush>
      <ul className="divide-y divide-line border-t border-line">
        {items.map((one) => (
          <ContradictionLine key={one.key} one={one} {...rest} />
        ))}
      </ul>
      {count > items.length && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint sm:px-5">
          And {formatCount(count - items.length)} more.
        </p>
      )}
    </Card>
  );
}

/** The open contradictions, and separately the explained ones. Renders nothing when the reader may see none. */
export function ContradictionsCards({ dealId }: { dealId: Id }) {
  const { data, isPending } = useQuery(computedQuery(dealId));
  // Kept here and not in the line: another person's answer moves the line to the other card while somebody writes.
  const [explaining, setExplaining] = useState<Contradiction | null>(null);
  if (isPending) return <SkeletonCard rows={3} height="h-20" />;
  if (!data) return null;
  const { all, may_answer, explained, ...open } = data.contradictions;
  const rest = { dealId, all, mayAnswer: may_answer, onExplain: setExplaining };
  return (
    <>
      <Listed
        title="Open contradictions"
        description={
          all
            ? 'Where the uploaded figures contradict themselves, and what to ask. Brokers and sellers of the deal see it; buyers see what a broker releases.'
            : 'Where the uploaded figures contradict themselves, and the broker’s answer.'
        }
        found={open}
        {...rest}
      />
      <Listed
        title="Explained"
        description={
          all
            ? 'What a broker has explained, with the figures as they are now.'
            : 'Where the uploaded figures seem to contradict themselves, and how the broker explains it.'
        }
        found={explained}
        {...rest}
      />
      {explaining && <ExplainDialog dealId={dealId} one={explaining} onClose={() => setExplaining(null)} />}
    </>
  );
}
