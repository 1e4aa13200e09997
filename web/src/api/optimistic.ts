import {
  useMutation,
  useQueryClient,
  type QueryClient,
  type QueryKey,
  type UseMutationResult,
} from '@tanstack/react-query';
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

/** What is known of a change that was shown. */
interface Shown<Data> {
  /** What is shown again when it fails. */
  before: Data | undefined;
  /** Whether the server has answered it. */
  answered: boolean;
}

/** `data` with the changes that are not answered yet. */
function withPending<Data>(client: QueryClient, queryKey: QueryKey, data: Data): Data {
  return client
    .getMutationCache()
    .findAll({ mutationKey: queryKey, exact: true, status: 'pending' })
    .reduce((shown, { meta, state }) => {
      const context = state.context as Shown<Data> | undefined;
      const update = meta?.['update'] as OptimisticOptions<Data, unknown, unknown>['update'] | undefined;
      if (!update || !context || context.answered) return shown;
      context.before = shown;
      return update(shown, state.variables);
    }, data);
}

/**
 * Keeps changes on the page that are under way while what they change is asked again: what the server answered may be from before them.
 */
export function keepPendingChanges(client: QueryClient): void {
  client.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated' || event.action.type !== 'success' || event.action.manual) return;
    const { queryKey } = event.query;
    if (client.isMutating({ mutationKey: queryKey, exact: true }) === 0) return;
    client.setQueryData<unknown>(queryKey, (data: unknown) => withPending(client, queryKey, data));
  });
}

/**
 * A change that is shown before the server has answered: for what nearly never fails and is easily taken back. When
 * it does fail, the view goes back to what it was, and a toast says why.
 */
export function useOptimistic<Data, Input, Result>(
  options: OptimisticOptions<Data, Input, Result>,
): UseMutationResult<Result, Error, Input, Shown<Data>> {
  const client = useQueryClient();
  const { queryKey, update, send, also = [], onDone } = options;
  return useMutation({
    mutationKey: queryKey,
    meta: { update },
    mutationFn: send,
    // One after the other, or an earlier change could be the last to arrive.
    scope: { id: JSON.stringify(queryKey) },
    onMutate: async (input): Promise<Shown<Data>> => {
      await client.cancelQueries({ queryKey });
      const before = client.getQueryData<Data>(queryKey);
      if (before !== undefined) client.setQueryData<Data>(queryKey, update(before, input));
      return { before, answered: false };
    },
    onError: (error, _input, context) => {
      if (context) {
        context.answered = true;
        const { before } = context;
        if (before !== undefined) client.setQueryData<Data>(queryKey, withPending(client, queryKey, before));
      }
      toastError(error);
    },
    onSuccess: (result, input, context) => {
      context.answered = true;
      return onDone?.(result, input);
    },
    onSettled: async () => {
      // What was asked before the server took the change may be answered without it.
      await client.cancelQueries({ queryKey });
      // After the last of several: what the server has before would stand in place of those that are still to be sent.
      if (client.isMutating({ mutationKey: queryKey, exact: true }) > 1) return;
      await Promise.all([queryKey, ...also].map((key) => client.invalidateQueries({ queryKey: key })));
    },
  });
}
