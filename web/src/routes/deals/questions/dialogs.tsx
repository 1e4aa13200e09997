import { useState, type ReactNode } from 'react';
import { sendAsRead } from '../../../api/as-read.ts';
import { useQuestionActions } from '../../../api/questions.ts';
import type { Id, Question, QuestionCategory } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select, Textarea } from '../../../components/input.tsx';
import { toast } from '../../../components/toast.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { optionsOf, questionCategories } from '../../../lib/states.ts';
import { orNull, required, useForm, type Form } from '../../../lib/use-form.ts';

interface AskValues {
  category: QuestionCategory | '';
  question_text: string;
}

/** Asks a question about the deal. */
export function AskDialog({ dealId, onClose }: { dealId: Id; onClose: () => void }) {
  const { ask } = useQuestionActions(dealId);
  const form = useForm<AskValues, Question>({
    initial: { category: '', question_text: '' },
    draft: `question/${dealId}`,
    check: (values) =>
      required(values, { category: 'Choose what it is about.', question_text: 'Write your question.' }),
    submit: ({ category, question_text }) => ask.mutateAsync({ category: category as QuestionCategory, question_text }),
    onDone: () => {
      onClose();
      toast('Your question was sent to the broker');
    },
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Ask a question"
      description="A broker reads it first and passes it on to the seller."
      action="Ask"
    >
      <Field label="About" error={form.errors.category}>
        <Select {...form.field('category')} placeholder="Choose a subject" options={optionsOf(questionCategories)} />
      </Field>
      <Field label="Question" error={form.errors.question_text}>
        <Textarea {...form.text('question_text')} rows={5} maxLength={lengths.questions.question_text} />
      </Field>
    </FormDialog>
  );
}

interface WordsProps {
  /** The question's id. */
  about: Id;
  title: string;
  description: string;
  label: string;
  initial: string;
  maxLength: number;
  missing: string | null;
  action: string;
  done: string;
  quote: ReactNode;
  /** Name of the field in the request. */
  name: string;
  /** Sends the text. `begin` replaces the initial text, unless the person has edited it. */
  send: (words: string, begin: (text: string) => void) => Promise<unknown>;
  onClose: () => void;
}

/** A dialog with one text field about a question, which is quoted above it. */
function WordsDialog(props: WordsProps) {
  const { name, missing } = props;
  const form: Form<Record<string, string>> = useForm<Record<string, string>>({
    initial: { [name]: props.initial },
    draft: `${name}/${props.about}`,
    check: (values) => (missing === null ? {} : required(values, { [name]: missing })),
    submit: (values) => props.send(values[name] ?? '', (text) => form.begin(name, text)),
    onDone: () => {
      props.onClose();
      toast(props.done);
    },
  });
  return (
    <FormDialog
      form={form}
      onClose={props.onClose}
      title={props.title}
      description={props.description}
      action={props.action}
    >
      <blockquote className="border-l-2 border-line pl-4 break-words whitespace-pre-wrap text-soft">
        {props.quote}
      </blockquote>
      <Field label={props.label} error={form.errors[name]} {...(missing === null && { optional: true })}>
        <Textarea {...form.text(name)} rows={5} maxLength={props.maxLength} />
      </Field>
    </FormDialog>
  );
}

interface QuestionDialogProps {
  question: Question;
  onClose: () => void;
}

/** Lets the broker reject a question, with an optional reason. */
function RejectDialog({ question, onClose }: QuestionDialogProps) {
  const { reject } = useQuestionActions(question.deal_id);
  return (
    <WordsDialog
      title="Reject this question"
      description="The buyer sees that it was rejected, and your reason."
      label="Reason"
      name="rejection_reason"
      initial=""
      maxLength={lengths.questions.rejection_reason}
      missing={null}
      action="Reject"
      done="Question rejected"
      about={question.id}
      quote={question.question_text}
      send={(words) => reject.mutateAsync({ id: question.id, rejection_reason: orNull(words) })}
      onClose={onClose}
    />
  );
}

/**
 * The seller’s answer as it was when the dialog opened. When a submission is refused because the answer was corrected
 * meanwhile, the dialog continues with the current answer.
 */
function useReadAnswer(question: Question) {
  const { currentAnswer } = useQuestionActions(question.deal_id);
  const [read, setRead] = useState(question.answer_text);
  const sendAfterReading = (send: () => Promise<unknown>, begin: (text: string) => void) =>
    sendAsRead(send, async () => {
      const answer = await currentAnswer(question.id);
      setRead(answer);
      begin(answer ?? '');
    });
  const quote =
    read === null ? (
      question.question_text
    ) : (
      <>
        {question.question_text}
        {'\n\n'}
        The seller’s answer: {read}
      </>
    );
  return { read, quote, sendAfterReading };
}

/** Lets the seller answer, or correct an answer that the broker has not sent yet. */
function AnswerDialog({ question, onClose }: QuestionDialogProps) {
  const { answer } = useQuestionActions(question.deal_id);
  const { read, quote, sendAfterReading } = useReadAnswer(question);
  return (
    <WordsDialog
      title="Answer this question"
      description="A broker reads your answer before it goes to the buyer."
      label="Answer"
      name="answer_text"
      initial={question.answer_text ?? ''}
      maxLength={lengths.question_answers.answer_text}
      missing="Write the answer."
      action="Send to broker"
      done="Your answer was sent to the broker"
      about={question.id}
      quote={quote}
      send={(words, begin) =>
        sendAfterReading(() => answer.mutateAsync({ id: question.id, answer_text: words, read_answer: read }), begin)
      }
      onClose={onClose}
    />
  );
}

/** Lets the broker send the answer to the buyer, in the seller's words or their own. */
function DistributeDialog({ question, onClose }: QuestionDialogProps) {
  const { distribute } = useQuestionActions(question.deal_id);
  const { read, quote, sendAfterReading } = useReadAnswer(question);
  return (
    <WordsDialog
      title="Send the answer"
      description="This is what the buyer’s side reads. It cannot be changed afterwards."
      label="Answer to the buyer"
      name="distributed_response"
      initial={question.answer_text ?? ''}
      maxLength={lengths.questions.distributed_response}
      missing="Write the answer."
      action="Send"
      done="The answer is sent"
      about={question.id}
      quote={quote}
      send={(words, begin) =>
        sendAfterReading(
          () => distribute.mutateAsync({ id: question.id, distributed_response: words, answer_text: read }),
          begin,
        )
      }
      onClose={onClose}
    />
  );
}

const dialogs = { reject: RejectDialog, answer: AnswerDialog, distribute: DistributeDialog };

/** A step of a question that needs a dialog. */
export type QuestionStep = keyof typeof dialogs;

/** The dialog of a step. */
export function StepDialog({ step, ...rest }: QuestionDialogProps & { step: QuestionStep }) {
  const Step = dialogs[step];
  return <Step {...rest} />;
}
