import { keepPreviousData, queryOptions, useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { address, api } from './client.ts';
import { useOptimistic } from './optimistic.ts';
import { keys } from './query-keys.ts';
import type {
  AccountChoice,
  ChecklistRow,
  Contradiction,
  ContradictionStatus,
  CustomerDates,
  Id,
  NormalizationInput,
  Qoe,
  QoeMember,
  SharedBounds,
  SnapshotPreview,
  SnapshotType,
} from './shapes.ts';
import { upload } from './upload.ts';

/** Maximum size of a file of accounts. */
export const largestBooksFile: SharedBounds['largestBooksFile']['words'] = '5 MB';
export const mostSnapshotRows: SharedBounds['mostSnapshotRows'] = 5000;

export const mostNormalizations: SharedBounds['mostNormalizations'] = 500;

/** The overview of the QoE workspace of a deal, with its checklist. */
export const qoeQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', 'overview'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/qoe', { param: { id: dealId }, signal }),
  });

const part = <T>(dealId: Id, name: string, ask: (options: { param: { id: Id }; signal: AbortSignal }) => Promise<T>) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', name),
    queryFn: ({ signal }) => ask({ param: { id: dealId }, signal }),
  });

/** The uploaded profit and loss of a deal, by period. */
export const periodsQuery = (dealId: Id) =>
  part(dealId, 'periods', (options) => api.get('/web/deals/:id/qoe/periods', options));
/** The figures computed from a deal's books. */
export const computedQuery = (dealId: Id) =>
  part(dealId, 'computed', (options) => api.get('/web/deals/:id/qoe/computed', options));
/** The normalizations of a deal. */
export const normalizationsQuery = (dealId: Id) =>
  part(dealId, 'normalizations', (options) => api.get('/web/deals/:id/qoe/normalizations', options));
/** The members of the QoE workspace of a deal. */
export const membersQuery = (dealId: Id) =>
  part(dealId, 'members', (options) => api.get('/web/deals/:id/qoe/members', options));
/** The uploaded financials of a deal. */
export const snapshotsQuery = (dealId: Id) =>
  part(dealId, 'snapshots', (options) => api.get('/web/deals/:id/qoe/snapshots', options));

/** The customer concentration of the period with exactly these dates; without dates, of the latest period. */
export const customersQuery = (dealId: Id, dates: CustomerDates | null) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', 'customers', dates && `${dates.first} ${dates.last}`),
    queryFn: ({ signal }) =>
      api.get('/web/deals/:id/qoe/customers', {
        param: { id: dealId },
        query: { start_date: dates?.first ?? null, end_date: dates?.last ?? null },
        signal,
      }),
    placeholderData: keepPreviousData,
  });

/** The bridge from reported to adjusted EBITDA of a period; without a label, of the latest period. */
export const bridgeQuery = (dealId: Id, label: string | null) =>
  queryOptions({
    queryKey: keys.of(dealId, 'qoe', 'bridge', label),
    queryFn: ({ signal }) =>
      api.get('/web/deals/:id/qoe/bridge', { param: { id: dealId }, query: { period_label: label }, signal }),
    placeholderData: keepPreviousData,
  });

/** Requests what the QoE tab of a deal shows at first. */
export function prefetchQoe(client: QueryClient, dealId: Id): void {
  void client.prefetchQuery(computedQuery(dealId));
  void client.prefetchQuery(periodsQuery(dealId));
  void client.prefetchQuery(bridgeQuery(dealId, null));
  void client.prefetchQuery(customersQuery(dealId, null));
  void client.prefetchQuery(normalizationsQuery(dealId));
  void client.prefetchQuery(qoeQuery(dealId));
  void client.prefetchQuery(snapshotsQuery(dealId));
  void client.prefetchQuery(membersQuery(dealId));
}

/** Mutations of a deal's QoE workspace. */
export function useQoeActions(dealId: Id) {
  const client = useQueryClient();
  const again = () => client.invalidateQueries({ queryKey: keys.of(dealId, 'qoe') });
  return {
    addRow: useMutation({
      mutationFn: (input: { category: string; title: string }) =>
        api.post('/web/deals/:id/qoe/checklist', { param: { id: dealId }, json: input }),
      onSuccess: again,
    }),
    setStatus: useOptimistic<Qoe, Pick<ChecklistRow, 'id' | 'status'>, unknown>({
      queryKey: qoeQuery(dealId).queryKey,
      update: (shown, { id, status }) => ({
        ...shown,
        progress: shown.progress.map((row) => (row.id === id ? { ...row, status } : row)),
      }),
      send: ({ id, status }) => api.patch('/web/qoe/checklist/:id', { param: { id }, json: { status } }),
    }),
    addNormalization: useMutation({
      mutationFn: (input: NormalizationInput) =>
        api.post('/web/deals/:id/qoe/normalizations', { param: { id: dealId }, json: input }),
      onSuccess: again,
    }),
    removeNormalization: useMutation({
      mutationFn: (id: Id) => api.delete('/web/qoe/normalizations/:id', { param: { id } }),
      onSuccess: again,
    }),
    admit: useMutation({
      mutationFn: ({ id, role }: { id: Id; role: QoeMember['role'] }) =>
        api.put('/web/deals/:id/qoe/members/:participant_id', {
          param: { id: dealId, participant_id: id },
          json: { role },
        }),
      onSuccess: again,
    }),
    dismiss: useMutation({
      mutationFn: (id: Id) =>
        api.delete('/web/deals/:id/qoe/members/:participant_id', { param: { id: dealId, participant_id: id } }),
      onSuccess: again,
    }),
    importFile: useMutation({
      mutationFn: ({ file, type, accounts }: { file: File; type: SnapshotType; accounts: AccountChoice[] | null }) =>
        upload('/web/deals/:id/qoe/snapshots', withAccounts(file, accounts), {
          param: { id: dealId },
          query: { snapshot_type: type, filename: file.name },
        }),
      onSuccess: again,
    }),
  };
}

interface AnswerInput {
  key: string;
  status: ContradictionStatus;
  why: string;
  /** The figures and the time of the answer as the person saw them: newer ones are not overwritten unseen. */
  figures: string;
  answered_at: string | null;
}

/** Mutations of the brokers' answers to contradictions, and of their release to buyers. */
export function useContradictionActions(dealId: Id) {
  const client = useQueryClient();
  const onSuccess = () => client.invalidateQueries({ queryKey: keys.of(dealId, 'qoe', 'computed') });
  const of = (key: string) => ({ param: { id: dealId, key } });
  return {
    /** Refetches a contradiction; undefined when the figures no longer contradict each other. */
    current: async (key: string): Promise<Contradiction | undefined> => {
      const { contradictions } = await client.fetchQuery({ ...computedQuery(dealId), staleTime: 0 });
      return [...contradictions.items, ...contradictions.explained.items].find((one) => one.key === key);
    },
    answer: useMutation({
      mutationFn: ({ key, ...json }: AnswerInput) =>
        api.put('/web/deals/:id/qoe/contradictions/:key/answer', { ...of(key), json }),
      onSuccess,
    }),
    takeBack: useMutation({
      mutationFn: ({ key, ...query }: { key: string; answered_at: string }) =>
        api.delete('/web/deals/:id/qoe/contradictions/:key/answer', { ...of(key), query }),
      onSuccess,
    }),
    release: useMutation({
      mutationFn: ({ key, ...json }: { key: string; answered_at: string }) =>
        api.put('/web/deals/:id/qoe/contradictions/:key/release', { ...of(key), json }),
      onSuccess,
    }),
    withdraw: useMutation({
      mutationFn: (key: string) => api.delete('/web/deals/:id/qoe/contradictions/:key/release', of(key)),
      onSuccess,
    }),
  };
}

/** The file, with the chosen lines of its accounts, if any. */
function withAccounts(file: File, accounts: AccountChoice[] | null): File | FormData {
  if (accounts === null) return file;
  const form = new FormData();
  form.set('file', file);
  form.set('account_lines', JSON.stringify(accounts));
  return form;
}

/** The content and the errors of a file; stores nothing. */
export const previewBooks = (
  dealId: Id,
  file: File,
  type: SnapshotType,
  accounts: AccountChoice[] | null,
): Promise<SnapshotPreview> =>
  upload('/web/deals/:id/qoe/snapshots/preview', withAccounts(file, accounts), {
    param: { id: dealId },
    query: { snapshot_type: type, filename: file.name },
  });

/** The URLs of a deal's report: as a PDF to print, and as a workbook. */
export const reportAddresses = (dealId: Id) => ({
  document: address('/web/deals/:id/report.pdf', { param: { id: dealId } }),
  workbook: address('/web/deals/:id/report.xlsx', { param: { id: dealId } }),
});

/** The URL of the template for an upload of this type. */
export const booksTemplate = (type: Exclude<SnapshotType, 'full'>): string =>
  address('/web/qoe/template', { query: { snapshot_type: type } });
