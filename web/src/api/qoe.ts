import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { address, api } from './client.ts';
import { keys } from './keys.ts';
import type {
  ChecklistRow,
  CustomerConcentration,
  EbitdaBridge,
  Id,
  Items,
  Normalization,
  NormalizationInput,
  PlPeriod,
  Qoe,
  QoeMember,
  Snapshot,
  SnapshotPreview,
  SnapshotType,
} from './types.ts';
import { upload } from './upload.ts';

export const qoeQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', 'overview'),
    queryFn: ({ signal }) => api.get<Qoe>(`/web/deals/${dealId}/qoe`, { signal }),
  });

const list = <T>(dealId: Id, name: string) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', name),
    queryFn: ({ signal }) => api.get<Items<T>>(`/web/deals/${dealId}/qoe/${name}`, { signal }),
  });

export const periodsQuery = (dealId: Id) => list<PlPeriod>(dealId, 'periods');
export const normalizationsQuery = (dealId: Id) => list<Normalization>(dealId, 'normalizations');
export const membersQuery = (dealId: Id) => list<QoeMember>(dealId, 'members');
export const snapshotsQuery = (dealId: Id) => list<Snapshot>(dealId, 'snapshots');

/** In the period that holds the day; the latest without one. */
export const customersQuery = (dealId: Id, asOf: string | null) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', 'customers', asOf),
    queryFn: ({ signal }) =>
      api.get<CustomerConcentration>(`/web/deals/${dealId}/qoe/customers`, { query: { as_of_period: asOf }, signal }),
    placeholderData: keepPreviousData,
  });

export const bridgeQuery = (dealId: Id, label: string | null) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', 'bridge', label),
    queryFn: ({ signal }) =>
      api.get<EbitdaBridge>(`/web/deals/${dealId}/qoe/bridge`, { query: { period_label: label }, signal }),
    placeholderData: keepPreviousData,
  });

/** What is done in the workspace of a deal. */
export function useQoeActions(dealId: Id) {
  const client = useQueryClient();
  const again = () => client.invalidateQueries({ queryKey: keys.of(dealId, 'qoe') });
  const overview = qoeQuery(dealId).queryKey;
  return {
    addRow: useMutation({
      mutationFn: (input: { category: string; title: string }) =>
        api.post<ChecklistRow>(`/web/deals/${dealId}/qoe/checklist`, input),
      onSuccess: again,
    }),
    setStatus: useMutation({
      mutationFn: ({ id, status }: Pick<ChecklistRow, 'id' | 'status'>) =>
        api.patch<ChecklistRow>(`/web/qoe/checklist/${id}`, { status }),
      // Shown at once: it nearly never fails, and is chosen back as easily.
      onMutate: async ({ id, status }) => {
        await client.cancelQueries({ queryKey: overview });
        const before = client.getQueryData(overview);
        client.setQueryData(
          overview,
          (shown) =>
            shown && { ...shown, progress: shown.progress.map((row) => (row.id === id ? { ...row, status } : row)) },
        );
        return before;
      },
      onError: (_error, _input, before) => client.setQueryData(overview, before),
      onSettled: again,
    }),
    addNormalization: useMutation({
      mutationFn: (input: NormalizationInput) =>
        api.post<Normalization>(`/web/deals/${dealId}/qoe/normalizations`, input),
      onSuccess: again,
    }),
    removeNormalization: useMutation({
      mutationFn: (id: Id) => api.delete(`/web/qoe/normalizations/${id}`),
      onSuccess: again,
    }),
    admit: useMutation({
      mutationFn: ({ id, role }: { id: Id; role: QoeMember['role'] }) =>
        api.put<QoeMember>(`/web/deals/${dealId}/qoe/members/${id}`, { role }),
      onSuccess: again,
    }),
    dismiss: useMutation({
      mutationFn: (id: Id) => api.delete(`/web/deals/${dealId}/qoe/members/${id}`),
      onSuccess: again,
    }),
    importFile: useMutation({
      mutationFn: ({ file, type }: { file: File; type: SnapshotType }) =>
        upload<Snapshot>(`/web/deals/${dealId}/qoe/snapshots`, file, {
          query: { snapshot_type: type, filename: file.name },
        }),
      onSuccess: again,
    }),
  };
}

/** What a file would bring in, and what is wrong with it; stores nothing. */
export const previewBooks = (dealId: Id, file: File, type: SnapshotType): Promise<SnapshotPreview> =>
  upload(`/web/deals/${dealId}/qoe/snapshots/preview`, file, { query: { snapshot_type: type, filename: file.name } });

/** Where the browser gets a file to fill in. */
export const booksTemplate = (type: SnapshotType): string => address('/web/qoe/template', { snapshot_type: type });
