import { Download } from 'lucide-react';
import { contentOf, previewOf } from '../../../api/documents.ts';
import type { DealDocument } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { DocumentPreview } from './preview.tsx';
import { download } from '../../../lib/download.ts';
import { formatBytes } from '../../../lib/format.ts';

/** Shows a document in a dialog; the server records that it was opened. */
export function PreviewDialog({ document, onClose }: { document: DealDocument; onClose: () => void }) {
  return (
    <Dialog
      size="xl"
      onClose={onClose}
      title={<span className="break-words">{document.filename}</span>}
      description={formatBytes(document.size_bytes)}
      footer={
        <>
          <Button icon={<Download className="size-4" />} onClick={() => download(contentOf(document))}>
            Download
          </Button>
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <DocumentPreview url={previewOf(document)} mediaType={document.media_type} label={document.filename} />
    </Dialog>
  );
}
