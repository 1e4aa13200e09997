import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api } from './client.ts';
import { keys } from './keys.ts';
import type { Id, Items, Question, QuestionCategory } from './types.ts';

export const questionsQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'questions'),
    queryFn: ({ signal }) => api.get<Items<Question>>(`/web/deals/${dealId}/questions`, { signal }),
  });

/** Notes that the person has read the answers, when `unread` says that they are shown some that are new to them. */
export function useReadAnswers(dealId: Id, unread: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!unread) return;
    const note = async () => {
      await api.post(`/web/deals/${dealId}/questions/read`);
      void client.invalidateQueries({ queryKey: keys.deal(dealId), exact: true });
      void client.invalidateQueries({ queryKey: keys.home });
    };
    // Nothing to tell the person: they are counted as new once more.
    note().catch(() => {});
  }, [client, dealId, unread]);
}

/** What is done about questions of a deal; each answer takes its place in the list at once. */
export function useQuestionActions(dealId: Id) {
  const client = useQueryClient();
  const show = (question: Question) => {
    client.setQueryData(questionsQuery(dealId).queryKey, (shown) => {
      if (!shown) return shown;
      const known = shown.items.some(({ id }) => id === question.id);
      return {
        ...shown,
        items: known ? shown.items.map((one) => (one.id === question.id ? question : one)) : [question, ...shown.items],
      };
    });
    void client.invalidateQueries({ queryKey: keys.deal(dealId), exact: true });
    void client.invalidateQueries({ queryKey: keys.home });
  };
  const step = <Input extends object>(name: string) => ({
    mutationFn: ({ id, ...input }: Input & { id: Id }) => api.post<Question>(`/web/questions/${id}/${name}`, input),
    onSuccess: show,
  });
  return {
    ask: useMutation({
      mutationFn: (input: { category: QuestionCategory; question_text: string }) =>
        api.post<Question>(`/web/deals/${dealId}/questions`, input),
      onSuccess: show,
    }),
    release: useMutation(step<object>('release')),
    withdraw: useMutation(step<object>('withdraw')),
    reject: useMutation(step<{ rejection_reason: string | null }>('reject')),
    answer: useMutation(step<{ answer_text: string }>('answer')),
    distribute: useMutation(step<{ distributed_response: string }>('distribute')),
  };
}
