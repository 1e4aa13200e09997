import { useQuery } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useState } from 'react';
import { findingQuery, useFindingActions } from '../../../api/diligence.ts';
import type { Finding } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { Textarea } from '../../../components/input.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast } from '../../../components/toast.tsx';
import { plural } from '../../../lib/format.ts';
import { lengths } from '../../../lib/lengths.ts';
import { findingSeverities, findingStates } from '../../../lib/states.ts';
import { required, useForm, type Form } from '../../../lib/use-form.ts';
import { useOwnerName } from '../context.ts';
import { FindingOwnerDialog, FindingStatusDialog } from './dialogs.tsx';

/** One finding, with its comments and history in an expandable part. */
export function FindingCard({ finding, editable }: { finding: Finding; editable: boolean }) {
  const [changing, setChanging] = useState<'status' | 'owner' | null>(null);
  const [isOpen, setOpen] = useState(false);
  const { comment_count: comments } = finding;
  const owner = useOwnerName()(finding);
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-faint">
        <Badge tone={findingSeverities[finding.severity].tone}>{findingSeverities[finding.severity].label}</Badge>
        <Badge>{finding.category}</Badge>
        <span>
          {finding.created_by_name ?? 'Someone'} recorded it <Time at={finding.created_at} />
        </span>
        <StatePill look={findingStates[finding.status]} className="ml-auto" />
      </div>
      <h3 className="mt-3 text-md font-semibold break-words text-ink">{finding.title}</h3>
      {finding.description !== null && (
        <p className="mt-1 max-w-3xl break-words whitespace-pre-wrap text-soft">{finding.description}</p>
      )}
      {owner !== null && <p className="mt-2 text-sm text-faint">Owner: {owner}</p>}
      {finding.status_notes !== null && (
        <p className="mt-3 max-w-3xl border-l-2 border-accent pl-4 break-words whitespace-pre-wrap text-ink">
          {finding.status_notes}
        </p>
      )}
      <div className="mt-4 flex flex-wrap items-start gap-x-4 gap-y-2">
        {editable && (
          <>
            <Button onClick={() => setChanging('status')}>
              Change status<span className="sr-only"> of {finding.title}</span>
            </Button>
            <Button onClick={() => setChanging('owner')}>
              Change owner<span className="sr-only"> of {finding.title}</span>
            </Button>
          </>
        )}
        <details className="min-w-0 grow" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary className="w-fit cursor-pointer rounded-md py-2 text-sm font-medium text-accent-ink">
            {comments === 0 ? 'Comments' : plural(comments, 'comment')} and history
          </summary>
          {isOpen && <Past finding={finding} />}
          {editable && <CommentForm finding={finding} onWritten={() => setOpen(true)} />}
        </details>
      </div>
      {changing === 'status' && <FindingStatusDialog finding={finding} onClose={() => setChanging(null)} />}
      {changing === 'owner' && <FindingOwnerDialog finding={finding} onClose={() => setChanging(null)} />}
    </Card>
  );
}

/** The history and comments of a finding, loaded when the part is expanded. */
function Past({ finding: { id, deal_id } }: { finding: Finding }) {
  const query = useQuery(findingQuery(deal_id, id));
  return (
    <Loaded query={query} skeleton={<SkeletonText lines={2} />}>
      {({ comments, history, comment_count: count }) => (
        <ol className="mt-2 flex flex-col gap-3">
          {comments.length < count && (
            <li className="text-sm text-faint">
              The latest {comments.length} of {count} comments are shown.
            </li>
          )}
          {history.map((change) => (
            <li key={change.changed_at} className="text-sm text-faint">
              {change.changed_by_name ?? 'Someone'}{' '}
              {change.from_status === null
                ? 'recorded it'
                : `changed the status from ${findingStates[change.from_status].label.toLowerCase()} to ${findingStates[change.to_status].label.toLowerCase()}`}{' '}
              <Time at={change.changed_at} />
              {change.notes !== null && change.from_status !== null && (
                <span className="block whitespace-pre-wrap text-soft">{change.notes}</span>
              )}
            </li>
          ))}
          {comments.map((comment) => (
            <li key={comment.id}>
              <p className="text-sm text-faint">
                {comment.created_by_name ?? 'Someone'} <Time at={comment.created_at} />
              </p>
              <p className="break-words whitespace-pre-wrap text-ink">{comment.body}</p>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}

function CommentForm({ finding, onWritten }: { finding: Finding; onWritten: () => void }) {
  const { comment } = useFindingActions(finding.deal_id);
  const form: Form<{ body: string }> = useForm<{ body: string }>({
    initial: { body: '' },
    draft: `finding-comment/${finding.id}`,
    check: (values) => required(values, { body: 'Write a comment.' }),
    submit: ({ body }) => comment.mutateAsync({ id: finding.id, body }),
    onDone: () => {
      form.reset();
      toast('Comment added');
    },
  });
  const show = useEffectEvent(onWritten);
  // Also for a draft kept from last time: otherwise the person would be asked about it on leaving without having seen
  // it.
  useEffect(() => {
    if (form.dirty) show();
  }, [form.dirty]);
  return (
    <form {...form.props} className="mt-4 flex flex-col items-start gap-2">
      <Field label="Comment" error={form.errors.body ?? form.fault ?? undefined} className="w-full">
        <Textarea {...form.text('body')} rows={2} maxLength={lengths.finding_comments.body} />
      </Field>
      <Button type="submit" pending={form.pending}>
        Comment<span className="sr-only"> on {finding.title}</span>
      </Button>
    </form>
  );
}
