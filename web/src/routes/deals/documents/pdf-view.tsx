import type { PDFDocumentProxy, PDFPageProxy, RenderTask } from 'pdfjs-dist';
import { Minus, Plus } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { openPdf } from './pdf.ts';
import { Button, IconButton } from '../../../components/button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Loading, Skeleton } from '../../../components/states.tsx';

interface PdfViewProps {
  /** URL of the PDF. */
  url: string;
  /** Name of the document for screen readers. */
  label: string;
}

interface Opened {
  /** How many times the PDF was opened, this one included. */
  attempt: number;
  document: PDFDocumentProxy;
  /** Size of the first page in the PDF's own units; pages that are not read yet are assumed to have the same. */
  size: { width: number; height: number };
  close: () => void;
}

const zooms = [0.5, 0.75, 1, 1.25, 1.5, 2, 3] as const;
/** At most this many pixels are drawn: browsers fail on larger canvases. */
const mostPixels = 16_000_000;

/** A PDF with its pages below each other; each page is read and drawn when it comes near the viewport. */
export default function PdfView({ url, label }: PdfViewProps) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [fault, setFault] = useState<'protected' | 'failed' | null>(null);
  const [attempt, setAttempt] = useState(1);
  const [zoom, setZoom] = useState(1);
  useEffect(() => {
    const { document: opening, close } = openPdf(url);
    let ended = false;
    let isShown = false;
    opening
      .then(async (document) => {
        const { width, height } = (await document.getPage(1)).getViewport({ scale: 1 });
        if (ended) return;
        isShown = true;
        setOpened({ attempt, document, size: { width, height }, close });
      })
      .catch((error: unknown) => {
        if (!ended) setFault(error instanceof Error && error.name === 'PasswordException' ? 'protected' : 'failed');
      });
    return () => {
      ended = true;
      if (!isShown) close();
    };
  }, [url, attempt]);
  // The open document stays visible while it is opened again, so that the person keeps their place.
  useEffect(() => () => opened?.close(), [opened]);
  // pdf.js does not fetch a failed part again while the document is open, so the PDF is opened anew.
  const openAgain = () => {
    setFault(null);
    setAttempt(attempt + 1);
  };

  if (fault === 'protected')
    return <Notice tone="warn">This PDF is password-protected. Download it to open it.</Notice>;
  if (fault === 'failed')
    return (
      <Notice tone="warn" action={<TryAgain onClick={openAgain} />}>
        This PDF could not be shown here. Try again, or download it.
      </Notice>
    );
  if (opened === null) {
    return (
      <Loading>
        <Skeleton className="h-[60dvh] w-full" />
      </Loading>
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
            aria-disabled={step(-1) === undefined}
            onClick={() => setZoom(step(-1) ?? zoom)}
          />
          <span className="w-12 text-center tabular" aria-live="polite">
            {Math.round(zoom * 100)}%
          </span>
          <IconButton
            size="sm"
            label="Zoom in"
            icon={<Plus className="size-4" />}
            aria-disabled={step(1) === undefined}
            onClick={() => setZoom(step(1) ?? zoom)}
          />
        </span>
      </div>
      <div
        key={opened.attempt}
        role="region"
        aria-label="Pages"
        className="flex flex-col gap-3 overflow-x-auto rounded-md bg-sunken p-3"
        tabIndex={0} // oxlint-disable-line jsx-a11y/no-noninteractive-tabindex -- what scrolls sideways must be reachable by keyboard
      >
        {Array.from({ length: numPages }, (_, index) => (
          <PdfPage key={index} {...opened} number={index + 1} zoom={zoom} onAgain={openAgain} />
        ))}
      </div>
    </section>
  );
}

function TryAgain({ onClick }: { onClick: () => void }) {
  return (
    <Button size="sm" onClick={onClick}>
      Try again
    </Button>
  );
}

interface PdfPageProps extends Opened {
  number: number;
  zoom: number;
  onAgain: () => void;
}

/** Whether an element is in the viewport or close to it. */
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

function PdfPage({ document, size: usual, number, zoom, onAgain }: PdfPageProps) {
  const { place, near } = useNear('800px 0px');
  const canvas = useRef<HTMLCanvasElement>(null);
  const [page, setPage] = useState<PDFPageProxy | null>(null);
  const [words, setWords] = useState('');
  const [failed, setFailed] = useState(false);
  const size = page?.getViewport({ scale: 1 }) ?? usual;

  useEffect(() => {
    if (!near || page) return;
    let ended = false;
    document
      .getPage(number)
      .then(async (read) => {
        const { items } = await read.getTextContent();
        if (ended) return;
        setPage(read);
        setWords(items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join(''));
      })
      .catch(() => {
        if (!ended) setFailed(true);
      });
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
    let ended = false;
    drawing.promise.catch(() => {
      if (!ended) setFailed(true);
    });
    return () => {
      ended = true;
      drawing.cancel();
      // Frees the memory of a page far away; its place stays reserved.
      element.width = 0;
      element.height = 0;
    };
  }, [near, page, zoom]);

  return (
    <div
      ref={place}
      // White also in the dark theme, as PDF pages assume.
      style={{ width: `${zoom * 100}%`, aspectRatio: `${size.width} / ${size.height}`, background: 'white' }}
      className="relative mx-auto shrink-0 shadow-1"
    >
      <canvas ref={canvas} aria-hidden className="absolute inset-0 size-full" />
      {failed && (
        <div className="absolute inset-0 grid place-items-center p-3">
          <Notice tone="bad" action={<TryAgain onClick={onAgain} />}>
            Page {number} could not be shown.
          </Notice>
        </div>
      )}
      <div className="sr-only">
        <h3>Page {number}</h3>
        <p className="whitespace-pre-wrap">{words}</p>
      </div>
    </div>
  );
}
