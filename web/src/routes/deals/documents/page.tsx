import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Files, SearchX, Upload } from 'lucide-react';
import { useCallback, useState } from 'react';
import {
  documentsQuery,
  mostDocumentsOfSource,
  useDocumentActions,
  type DocumentFilter,
} from '../../../api/documents.ts';
import { useVisit } from '../../../api/visits.ts';
import type { DealDocument } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { FilterBar } from '../../../components/filter-bar.tsx';
import { Select } from '../../../components/input.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { paths } from '../../../paths.ts';
import { formatCount } from '../../../lib/format.ts';
import { confidentialities, documentCategory, optionsOf, questionCategories } from '../../../lib/states.ts';
import { useFound } from '../../../lib/use-found.ts';
import { useDeal } from '../context.ts';
import { DocumentList } from './list.tsx';
import type { DocumentAction } from './row.tsx';
import { readDocumentsSearch } from './search.ts';
import { useDocumentUploads, useFilesOverPage } from './uploads.ts';
import { EditDialog } from './edit-dialog.tsx';
import { OpeningsDrawer } from './openings-drawer.tsx';
import { PreviewDialog } from './preview-dialog.tsx';
import { RemovedDocuments } from './removed.tsx';
import { UploadDrawer, UploadStrip } from './upload-drawer.tsx';
import { TabPage } from '../tab-page.tsx';

const route = getRouteApi('/app/deals/$dealId/documents');

const everything: DocumentFilter = { search: '', category: '', confidentiality: '' };

interface FiltersProps {
  filter: DocumentFilter;
  change: (part: Partial<DocumentFilter>) => void;
  /** Categories in use, including ones that people typed. */
  categories: readonly string[];
}

/** Categories without those that differ from an earlier one only in case. */
function differentCategories(categories: readonly string[]): string[] {
  const known = new Set<string>(Object.keys(questionCategories));
  return categories.filter((category) => {
    const isNew = !known.has(category.toLowerCase());
    known.add(category.toLowerCase());
    return isNew;
  });
}

/** The category among the options that is this one, whatever its case. */
const optionFor = (category: string, own: readonly string[]): string =>
  [...Object.keys(questionCategories), ...own].find((one) => one.toLowerCase() === category.toLowerCase()) ?? category;

function Filters({ filter, change, categories }: FiltersProps) {
  const own = differentCategories(categories);
  const width = 'flex-[0_1_12rem] max-sm:flex-[1_1_9rem]';
  return (
    <FilterBar label="Search documents" search={filter.search} onSearch={(text) => change({ search: text })}>
      <div className={width}>
        <Select
          aria-label="Category"
          value={filter.category === '' ? 'any' : optionFor(filter.category, own)}
          onChange={(chosen) => change({ category: chosen === 'any' ? '' : chosen })}
          options={[
            { value: 'any', label: 'All categories' },
            ...optionsOf<string>(questionCategories),
            ...own.map((category) => ({ value: category, label: documentCategory(category) })),
          ]}
        />
      </div>
      <div className={width}>
        <Select
          aria-label="Who may open it"
          value={filter.confidentiality === '' ? 'any' : filter.confidentiality}
          onChange={(chosen) => change({ confidentiality: chosen === 'any' ? '' : chosen })}
          options={[{ value: 'any', label: 'All access levels' }, ...optionsOf(confidentialities)]}
        />
      </div>
    </FilterBar>
  );
}

const sourcesInWords: Record<DealDocument['source'], string> = {
  simple: 'not produced for a diligence request',
  production: 'produced for diligence requests',
};

/** The sources with more documents than are listed. */
const cutSources = (documents: readonly DealDocument[]) =>
  (Object.keys(sourcesInWords) as DealDocument['source'][]).filter(
    (one) => documents.filter(({ source }) => source === one).length >= mostDocumentsOfSource,
  );

type Open = { what: Exclude<DocumentAction, 'remove'>; document: DealDocument } | null;

/** The “Documents” tab of a deal: the documents that the caller may open, latest first. */
export default function DocumentsTab() {
  const { deal, capacities, participants } = useDeal();
  useVisit(deal.id, 'documents');
  const mayUpload = capacities.can_upload_documents;
  const [uploading, setUploading] = useState(false);
  const [open, setOpen] = useState<Open>(null);
  const filter: DocumentFilter = { ...everything, ...route.useSearch() };
  const navigate = route.useNavigate();
  const query = useQuery({ ...documentsQuery(deal.id, filter), placeholderData: keepPreviousData });
  const found = query.data?.items ?? [];
  useFound(filter, query.data && !query.isPlaceholderData ? found.length : undefined, cutSources(found).length > 0);
  // From the unfiltered list: a filtered one lacks the other categories, and the person could not switch to them.
  const categories = useQuery(documentsQuery(deal.id, everything)).data?.items.map(({ category }) => category) ?? [];
  const uploads = useDocumentUploads(deal.id);
  const beginUpload = useCallback(() => setUploading(true), []);
  useFilesOverPage(mayUpload, beginUpload);

  const { mutateAsync: remove } = useDocumentActions(deal.id).remove;
  const { mutateAsync: restore } = useDocumentActions(deal.id).restore;
  const onAction = useCallback(
    (action: DocumentAction, document: DealDocument) => {
      if (action !== 'remove') {
        setOpen({ what: action, document });
        return;
      }
      remove(document)
        .then(() => toast(`${document.filename} was removed`, { undo: () => restore(document) }))
        .catch(toastError);
    },
    [remove, restore],
  );
  const change = (part: Partial<DocumentFilter>) =>
    void navigate({
      to: paths.dealDocuments,
      params: { dealId: deal.id },
      search: readDocumentsSearch({ ...filter, ...part }),
      replace: true,
      resetScroll: false,
    });
  const filtered = Object.values(filter).some((value) => value !== '');
  const bare = query.data?.items.length === 0 && !filtered;
  const close = () => setOpen(null);
  const upload = mayUpload && (
    <Button kind="primary" icon={<Upload className="size-4" />} onClick={beginUpload}>
      Upload
    </Button>
  );
  return (
    <TabPage
      title="Documents"
      description={
        mayUpload
          ? 'You choose who may open each one: everyone, buyers under an NDA, or the exclusive buyer.'
          : capacities.can_sign_nda && participants.every((one) => one.nda_status !== 'active')
            ? 'What the brokers and sellers share with you. Sign the NDA to open the documents under NDA.'
            : 'What the brokers and sellers share with you.'
      }
      actions={!bare && upload}
    >
      <Card flush>
        {!uploading && <UploadStrip uploads={uploads} onShow={beginUpload} />}
        {!bare && (
          <Filters
            filter={filter}
            change={change}
            categories={[...new Set(filter.category === '' ? categories : [...categories, filter.category])]}
          />
        )}
        <Loaded query={query} skeleton={<SkeletonRows rows={6} height="h-17" />}>
          {({ items }) =>
            items.length > 0 ? (
              <div className={query.isPlaceholderData ? 'opacity-60' : undefined}>
                <DocumentList documents={items} onAction={onAction} />
                {cutSources(items).map((source) => (
                  <p key={source} className="px-5 py-3 text-sm text-faint">
                    Of the documents {sourcesInWords[source]}, these are the latest {formatCount(mostDocumentsOfSource)}
                    . Search to find others.
                  </p>
                ))}
              </div>
            ) : filtered ? (
              <EmptyState
                icon={SearchX}
                title="No matching documents"
                action={<Button onClick={() => change(everything)}>Show all</Button>}
              >
                Try another word, all categories, or all access levels.
              </EmptyState>
            ) : (
              <EmptyState icon={Files} title="No documents yet" action={upload}>
                {mayUpload
                  ? 'Upload the CIM, the financial statements, the lease: drop several at once.'
                  : 'What the brokers and sellers share with you shows here.'}
              </EmptyState>
            )
          }
        </Loaded>
      </Card>
      {mayUpload && <RemovedDocuments dealId={deal.id} />}
      {uploading && <UploadDrawer uploads={uploads} onClose={() => setUploading(false)} />}
      {open?.what === 'preview' && <PreviewDialog document={open.document} onClose={close} />}
      {open?.what === 'openings' && <OpeningsDrawer document={open.document} onClose={close} />}
      {open?.what === 'edit' && <EditDialog document={open.document} onClose={close} />}
    </TabPage>
  );
}
