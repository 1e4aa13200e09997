import { Check, Copy } from 'lucide-react';
import { useRef } from 'react';
import { useCopy } from './use-copy.ts';
import { Button } from './button.tsx';

interface CopyBlockProps {
  value: string;
  /** What is copied, for screen readers. */
  label: string;
}

/** Several lines to copy and use elsewhere, shown in full. */
export function CopyBlock({ value, label }: CopyBlockProps) {
  const block = useRef<HTMLPreElement>(null);
  const [copied, copy] = useCopy(value, () => block.current && getSelection()?.selectAllChildren(block.current));
  return (
    <div className="flex flex-wrap items-start gap-2">
      <pre
        ref={block}
        aria-label={label}
        className="min-w-0 flex-[1_1_16rem] rounded-lg border border-line bg-sunken px-3 py-2 font-mono text-sm break-words whitespace-pre-wrap [overflow-wrap:anywhere] text-ink"
      >
        {value}
      </pre>
      <Button
        onClick={copy}
        aria-label={copied ? `Copied: ${label}` : `Copy: ${label}`}
        icon={copied ? <Check className="size-4" /> : <Copy className="size-4" />}
      >
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
      </Button>
    </div>
  );
}
