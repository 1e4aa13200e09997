/** Reads PDFs in the browser: the parser runs in a web worker, and only the parts in view are fetched. */
import { getDocument, PDFWorker, type PDFDocumentProxy } from 'pdfjs-dist';
// oxlint-disable-next-line import/default -- the build makes a worker of it
import Parser from 'pdfjs-dist/build/pdf.worker.min.mjs?worker';

/**
 * Decoders for scanners' image formats, and the standard fonts that a PDF may omit; each is fetched when a PDF needs
 * it.
 */
const parts = import.meta.glob<string>(
  [
    '../../../../../node_modules/pdfjs-dist/wasm/{jbig2,openjpeg,qcms_bg}.wasm',
    '../../../../../node_modules/pdfjs-dist/standard_fonts/*.{pfb,ttf}',
  ],
  { query: '?url', import: 'default', eager: true, exhaustive: true },
);
const addresses = new Map(
  Object.entries(parts).map(([path, address]) => [path.slice(path.lastIndexOf('/') + 1), address]),
);

/** Fetches these files under the names that the build gave them. */
class Parts {
  async fetch({ filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const address = addresses.get(filename);
    const answer = address && (await fetch(address));
    if (!answer || !answer.ok) throw new Error(`${filename} could not be fetched.`);
    return new Uint8Array(await answer.arrayBuffer());
  }
}

interface OpenPdf {
  readonly document: Promise<PDFDocumentProxy>;
  /** Ends the worker and frees everything that was read. */
  close(): void;
}

/** Opens the PDF at a URL. */
export function openPdf(url: string): OpenPdf {
  const port = new Parser();
  const worker = PDFWorker.create({ port });
  const task = getDocument({
    url,
    worker,
    BinaryDataFactory: Parts,
    useWorkerFetch: false,
    // Fetches parts of a large file as they are needed, instead of the whole file.
    disableAutoFetch: true,
    disableStream: true,
    rangeChunkSize: 524_288,
  });
  return {
    document: task.promise,
    close() {
      void task.destroy().finally(() => {
        worker.destroy();
        port.terminate();
      });
    },
  };
}
