import { largestDocument, type AboutFiles } from '../../../api/document-uploads.ts';
import { Button } from '../../../components/button.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FileDrop } from '../../../components/file-drop.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { plural } from '../../../lib/format.ts';
import { lengths } from '../../../lib/lengths.ts';
import { confidentialities, optionsOf, questionCategories } from '../../../lib/states.ts';
import { UploadList } from './upload-list.tsx';
import type { DocumentUploads } from './uploads.ts';

interface UploadDrawerProps {
  uploads: DocumentUploads;
  onClose: () => void;
}

/** Uploads documents: the person sets their category and who may open them, then drops the files. */
export function UploadDrawer({ uploads, onClose }: UploadDrawerProps) {
  const { about, setAbout, busy } = uploads;
  const say = (part: Partial<AboutFiles>) => setAbout((before) => ({ ...before, ...part }));
  const interrupted = uploads.uploads.filter((one) => one.interrupted).length;
  const over = uploads.uploads.some(({ state }) => state !== 'waiting' && state !== 'sending');
  return (
    <Drawer
      onClose={onClose}
      title="Upload documents"
      description="These settings apply to the files you add next."
      footer={
        <>
          {interrupted > 1 && <Button onClick={uploads.retryInterrupted}>Send {interrupted} files again</Button>}
          {over && <Button onClick={uploads.clear}>Clear finished</Button>}
          <Button kind="primary" onClick={onClose}>
            {busy ? 'Continue in the background' : 'Done'}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Category">
            <Select
              value={about.category}
              onChange={(category) => say({ category })}
              options={optionsOf(questionCategories)}
            />
          </Field>
          <Field label="Who may open them">
            <Select
              value={about.confidentiality}
              onChange={(confidentiality) => say({ confidentiality })}
              options={optionsOf(confidentialities)}
            />
          </Field>
        </div>
        <Field label="Produced for a request" hint="The diligence request that they answer." optional>
          <Input
            value={about.request}
            onChange={(event) => say({ request: event.target.value })}
            maxLength={lengths.production_documents.diligence_request}
          />
        </Field>
        <FileDrop
          multiple
          onFiles={uploads.add}
          hint={`PDF, Office files, images, text, CSV, e-mails, video and ZIP, up to ${largestDocument.words} each`}
        />
        <UploadList uploads={uploads.uploads} onStop={uploads.stop} onRetry={uploads.retry} />
      </div>
    </Drawer>
  );
}

/** The progress of uploads while their drawer is closed. */
export function UploadStrip({ uploads, onShow }: { uploads: DocumentUploads; onShow: () => void }) {
  const { busy } = uploads;
  const all = uploads.uploads.filter(({ state }) => state !== 'stopped');
  const failed = all.filter(({ state }) => state === 'failed').length;
  if (!busy && failed === 0) return null;
  const total = all.reduce((sum, { file }) => sum + file.size, 0);
  const sent = all.reduce((sum, { state, file, sent: far }) => sum + (state === 'done' ? file.size : far), 0);
  const share = total === 0 ? 0 : Math.min(1, sent / total);
  return (
    <div className="flex items-center gap-4 border-b border-line px-4 py-2.5 sm:px-5">
      <div className="min-w-0 flex-1">
        <p className="text-sm text-soft">
          {busy ? `Uploading: ${Math.round(share * 100)}%` : `${plural(failed, 'file')} could not be uploaded.`}
        </p>
        {busy && (
          <div aria-hidden className="mt-1.5 h-1 overflow-hidden rounded-full bg-line">
            <div
              style={{ transform: `scaleX(${share})` }}
              className="h-full origin-left rounded-full bg-accent transition-transform duration-200"
            />
          </div>
        )}
      </div>
      <Button size="sm" onClick={onShow}>
        Show
      </Button>
    </div>
  );
}
