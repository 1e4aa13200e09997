import { useMutation, useQueryClient, type QueryKey, type UseMutationResult } from '@tanstack/react-query';
import { toastError } from '../components/toast.tsx';

interface OptimisticOptions<Data, Input, Result> {
  /** What is shown at once, as if it had worked. */
  queryKey: QueryKey;
  update: (data: Data, input: Input) => Data;
  send: (input: Input) => Promise<Result>;
  /** What else is asked again afterwards. */
  also?: readonly QueryKey[];
  onDone?: (result: Result, input: Input) => void;
}

/**
 * A change that is shown before the server has answered: for what nearly never fails and is easily taken back. When
 * it does fail, the view goes back to what it was, and a toast says why.
 */
export function useOptimistic<Data, Input, Result>(
  options: OptimisticOptions<Data, Input, Result>,
): UseMutationResult<Result, Error, Input, { before: Data | undefined }> {
  const client = useQueryClient();
  const { queryKey, update, send, also = [], onDone } = options;
  return useMutation({
    mutationKey: queryKey,
    mutationFn: send,
    // One after the other, or an earlier change could be the last to arrive.
    scope: { id: JSON.stringify(queryKey) },
    onMutate: async (input) => {
      await client.cancelQueries({ queryKey });
      const before = client.getQueryData<Data>(queryKey);
      if (before !== undefined) client.setQueryData<Data>(queryKey, update(before, input));
      return { before };
    },
    onError: (error, _input, context) => {
      if (context) client.setQueryData(queryKey, context.before);
      toastError(error);
    },
    onSuccess: (result, input) => onDone?.(result, input),
    onSettled: async () => {
      // After the last of several: what the server has before would stand in place of those that are still to be sent.
      if (client.isMutating({ mutationKey: queryKey, exact: true }) > 1) return;
      await Promise.all([queryKey, ...also].map((key) => client.invalidateQueries({ queryKey: key })));
    },
  });
}
