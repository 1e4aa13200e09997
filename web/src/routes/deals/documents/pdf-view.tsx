import type { PDFDocumentProxy, PDFPageProxy, RenderTask } from 'pdfjs-dist';
import { Minus, Plus } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { openPdf } from './pdf.ts';
import { IconButton } from '../../../components/button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Skeleton } from '../../../components/states.tsx';

interface PdfViewProps {
  /** Where the PDF is. */
  url: string;
  /** Names it for screen readers. */
  label: string;
}

interface Opened {
  document: PDFDocumentProxy;
  /** Of the first page, in the PDF's own units; pages that are not read yet are taken to be alike. */
  size: { width: number; height: number };
}

const zooms = [0.5, 0.75, 1, 1.25, 1.5, 2, 3] as const;
/** A browser gives up on larger drawings, in pixels. */
const mostPixels = 16_000_000;

function whyNot(error: unknown): string {
  return error instanceof Error && error.name === 'PasswordException'
    ? 'This PDF is protected by a password. Download it to open it.'
    : 'This PDF could not be shown here. Download it instead.';
}

/** A PDF, page below page; each is read and drawn when it comes near. */
export default function PdfView({ url, label }: PdfViewProps) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [zoom, setZoom] = useState(1);
  useEffect(() => {
    const pdf = openPdf(url);
    let ended = false;
    pdf.document
      .then(async (document) => {
        const { width, height } = (await document.getPage(1)).getViewport({ scale: 1 });
        if (!ended) setOpened({ document, size: { width, height } });
      })
      .catch((error: unknown) => {
        if (!ended) setFault(whyNot(error));
      });
    return () => {
      ended = true;
      pdf.close();
    };
  }, [url]);

  if (fault !== null) return <Notice tone="warn">{fault}</Notice>;
  if (opened === null) {
    return (
      <div aria-busy="true">
        <span className="sr-only" role="status">
          Loading…
        </span>
        <Skeleton className="h-[60dvh] w-full" />
      </div>
    );
  }
  const { numPages } = opened.document;
  const step = (by: 1 | -1) => zooms[zooms.indexOf(zoom as (typeof zooms)[number]) + by];
  return (
    <section aria-label={label}>
      <div className="sticky top-0 z-10 mb-2 flex items-center justify-between gap-3 bg-surface py-1 text-sm text-faint">
        <span className="tabular">{numPages === 1 ? '1 page' : `${numPages} pages`}</span>
        <span className="flex items-center gap-1">
          <IconButton
            size="sm"
            label="Zoom out"
            icon={<Minus className="size-4" />}
            disabled={step(-1) === undefined}
            onClick={() => setZoom(step(-1) ?? zoom)}
          />
          <span className="w-12 text-center tabular" aria-live="polite">
            {Math.round(zoom * 100)}%
          </span>
          <IconButton
            size="sm"
            label="Zoom in"
            icon={<Plus className="size-4" />}
            disabled={step(1) === undefined}
            onClick={() => setZoom(step(1) ?? zoom)}
          />
        </span>
      </div>
      {/* What scrolls sideways must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="flex flex-col gap-3 overflow-x-auto rounded-md bg-sunken p-3" tabIndex={0}>
        {Array.from({ length: numPages }, (_, index) => (
          <PdfPage key={index} {...opened} number={index + 1} zoom={zoom} />
        ))}
      </div>
    </section>
  );
}

interface PdfPageProps extends Opened {
  number: number;
  zoom: number;
}

/** Whether something is on the screen or about to be. */
function useNear(margin: string) {
  const place = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (!place.current) return;
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: margin,
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [margin]);
  return { place, near };
}

function PdfPage({ document, size: usual, number, zoom }: PdfPageProps) {
  const { place, near } = useNear('800px 0px');
  const canvas = useRef<HTMLCanvasElement>(null);
  const [page, setPage] = useState<PDFPageProxy | null>(null);
  const [words, setWords] = useState('');
  const size = page?.getViewport({ scale: 1 }) ?? usual;

  useEffect(() => {
    if (!near || page) return;
    let ended = false;
    void document
      .getPage(number)
      .then(async (read) => {
        const { items } = await read.getTextContent();
        if (ended) return;
        setPage(read);
        setWords(items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join(''));
      })
      .catch(() => {});
    return () => {
      ended = true;
    };
  }, [document, near, number, page]);

  useEffect(() => {
    const element = canvas.current;
    if (!near || !page || !element) return;
    const wanted = (element.clientWidth / page.getViewport({ scale: 1 }).width) * Math.min(2, window.devicePixelRatio);
    const { width, height } = page.getViewport({ scale: wanted });
    const viewport = page.getViewport({ scale: wanted * Math.min(1, Math.sqrt(mostPixels / (width * height))) });
    element.width = Math.floor(viewport.width);
    element.height = Math.floor(viewport.height);
    const drawing: RenderTask = page.render({ canvas: element, viewport });
    drawing.promise.catch(() => {});
    return () => {
      drawing.cancel();
      // Pages far away keep their place and give back their memory.
      element.width = 0;
      element.height = 0;
    };
  }, [near, page, zoom]);

  return (
    <div
      ref={place}
      // White in the dark theme too, as PDF pages assume.
      style={{ width: `${zoom * 100}%`, aspectRatio: `${size.width} / ${size.height}`, background: 'white' }}
      className="relative mx-auto shrink-0 shadow-1"
    >
      <canvas ref={canvas} aria-hidden className="absolute inset-0 size-full" />
      <div className="sr-only">
        <h3>Page {number}</h3>
        <p className="whitespace-pre-wrap">{words}</p>
      </div>
    </div>
  );
}
