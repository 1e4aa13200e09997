import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { RequestBody } from '../../../server/contract.ts';
import { onceSeen } from '../lib/user-activity.ts';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import { restartRequest } from './refresh.ts';
import type { Id, Question, QuestionCategory, SharedBounds } from './shapes.ts';

export const mostQuestions: SharedBounds['mostQuestions'] = 500;

/** The questions of a deal. */
export const questionsQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'questions'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/questions', { param: { id: dealId }, signal }),
  });

/** Marks the answers of a deal as read when `unread` says that some of those shown are new to the person. */
export function useReadAnswers(dealId: Id, unread: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!unread) return undefined;
    const note = async () => {
      await api.post('/web/deals/:id/questions/read', { param: { id: dealId } });
      void client.invalidateQueries({ queryKey: keys.deal(dealId), exact: true });
      void client.invalidateQueries({ queryKey: keys.home });
    };
    // No message for the person: the answers are counted as new again.
    return onceSeen(() => void note().catch(() => {}));
  }, [client, dealId, unread]);
}

/** Mutations of a deal's questions; each response replaces the question in the cached list. */
export function useQuestionActions(dealId: Id) {
  const client = useQueryClient();
  const show = (question: Question) => {
    const { queryKey } = questionsQuery(dealId);
    client.setQueryData(queryKey, (shown) => {
      if (!shown) return shown;
      const known = shown.items.some(({ id }) => id === question.id);
      return {
        ...shown,
        items: known ? shown.items.map((one) => (one.id === question.id ? question : one)) : [question, ...shown.items],
      };
    });
    restartRequest(client, queryKey);
    void client.invalidateQueries({ queryKey: keys.deal(dealId), exact: true });
    void client.invalidateQueries({ queryKey: keys.home });
  };
  const then = {
    onSuccess: show,
    // The action may have been offered because the list was out of date.
    onError: () => void client.invalidateQueries({ queryKey: questionsQuery(dealId).queryKey }),
  };
  return {
    /** Refetches the seller's answer to a question. */
    currentAnswer: async (id: Id): Promise<string | null> => {
      const { items } = await client.fetchQuery({ ...questionsQuery(dealId), staleTime: 0 });
      return items.find((one) => one.id === id)?.answer_text ?? null;
    },
    ask: useMutation({
      mutationFn: (input: { category: QuestionCategory; question_text: string }) =>
        api.post('/web/deals/:id/questions', { param: { id: dealId }, json: input }),
      ...then,
    }),
    release: useMutation({
      mutationFn: ({ id }: { id: Id }) => api.post('/web/questions/:id/release', { param: { id } }),
      ...then,
    }),
    withdraw: useMutation({
      mutationFn: ({ id }: { id: Id }) => api.post('/web/questions/:id/withdraw', { param: { id } }),
      ...then,
    }),
    reject: useMutation({
      mutationFn: ({ id, ...json }: { id: Id } & RequestBody<'post', '/web/questions/:id/reject'>) =>
        api.post('/web/questions/:id/reject', { param: { id }, json }),
      ...then,
    }),
    answer: useMutation({
      mutationFn: ({ id, ...json }: { id: Id } & RequestBody<'post', '/web/questions/:id/answer'>) =>
        api.post('/web/questions/:id/answer', { param: { id }, json }),
      ...then,
    }),
    distribute: useMutation({
      mutationFn: ({ id, ...json }: { id: Id } & RequestBody<'post', '/web/questions/:id/distribute'>) =>
        api.post('/web/questions/:id/distribute', { param: { id }, json }),
      ...then,
    }),
  };
}
