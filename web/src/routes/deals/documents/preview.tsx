import { useState } from 'react';
import { Button } from '../../../components/button.tsx';
import { lazyPart } from '../../../components/lazy-part.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Skeleton } from '../../../components/states.tsx';

/** Loaded with the first PDF: the code that reads PDFs is large. */
const PdfView = lazyPart(() => import('./pdf-view.tsx'), <Skeleton className="h-[60dvh] w-full" />);

interface DocumentPreviewProps {
  url: string;
  mediaType: string;
  label: string;
}

/** A PDF or an image, shown in place. */
export function DocumentPreview({ url, mediaType, label }: DocumentPreviewProps) {
  if (mediaType.startsWith('image/')) return <Picture url={url} label={label} />;
  return <PdfView url={url} label={label} />;
}

function Picture({ url, label }: { url: string; label: string }) {
  const [state, setState] = useState<'loading' | 'shown' | 'failed'>('loading');
  if (state === 'failed')
    return (
      <Notice
        tone="warn"
        action={
          <Button size="sm" onClick={() => setState('loading')}>
            Try again
          </Button>
        }
      >
        This image could not be shown here. Try again, or download it.
      </Notice>
    );
  return (
    <div aria-busy={state === 'loading'} className="grid min-h-[40dvh] place-items-center rounded-md bg-sunken p-3">
      <img
        src={url}
        alt={label}
        onLoad={() => setState('shown')}
        onError={() => setState('failed')}
        className="max-h-[70dvh] max-w-full"
      />
    </div>
  );
}
