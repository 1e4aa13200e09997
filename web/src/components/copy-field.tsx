import { Check, Copy } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { useControl } from './field.tsx';
import { toast } from './toast.tsx';

interface CopyFieldProps {
  value: string;
  /** Names it for screen readers where no Field does. */
  label?: string;
}

/** Something to copy and use elsewhere: a link, a client id, a key shown once. */
export function CopyField({ value, label }: CopyFieldProps) {
  const [copied, setCopied] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      setCopied(true);
    } catch {
      // No right to the clipboard, or no secure origin: selected, it can be copied by hand.
      input.current?.select();
      toast('Selected: press Ctrl+C or ⌘C to copy.');
    }
  };
  return (
    <div className="flex gap-2">
      <input
        {...useControl()}
        ref={input}
        readOnly
        value={value}
        aria-label={label}
        onFocus={(event) => event.target.select()}
        className="control min-w-0 flex-1 truncate bg-sunken font-mono text-sm"
      />
      <Button onClick={() => void copy()} icon={copied ? <Check className="size-4" /> : <Copy className="size-4" />}>
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
      </Button>
    </div>
  );
}
