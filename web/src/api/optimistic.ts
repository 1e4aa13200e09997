import {
  useMutation,
  useQueryClient,
  type QueryClient,
  type QueryKey,
  type UseMutationResult,
} from '@tanstack/react-query';
import { toastError } from '../components/toast.tsx';

interface OptimisticOptions<Data, Input, Result> {
  /** The cached data that is updated before the server has responded. */
  queryKey: QueryKey;
  update: (data: Data, input: Input) => Data;
  send: (input: Input) => Promise<Result>;
  /** Further queries that are refetched afterwards. */
  also?: readonly QueryKey[];
  onDone?: (result: Result, input: Input) => void;
}

interface Shown<Data> {
  /** The data that is restored when the change fails. */
  before: Data | undefined;
  answered: boolean;
}

/** Returns `data` with all changes applied that the server has not responded to. */
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
 * Keeps pending changes visible when their data is refetched meanwhile: the server's response may date from before
 * them.
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
 * A change that is shown before the server has responded, for changes that rarely fail and are easily undone. When it
 * fails, the view is restored, and a toast says why.
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
    // Sent one after the other; otherwise an earlier change could arrive last.
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
      // Responses to requests sent before the change was saved may not contain it.
      await client.cancelQueries({ queryKey });
      // Refetched only after the last of several changes: earlier, the server's data would replace changes that are
      // still to be sent.
      if (client.isMutating({ mutationKey: queryKey, exact: true }) > 1) return;
      await Promise.all([queryKey, ...also].map((key) => client.invalidateQueries({ queryKey: key })));
    },
  });
}
