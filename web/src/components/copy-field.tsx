import { Check, Copy } from 'lucide-react';
import { useRef } from 'react';
import { useCopy } from './use-copy.ts';
import { Button } from './button.tsx';
import { useControl } from './field.tsx';

interface CopyFieldProps {
  value: string;
  /** Names it for screen readers where no Field does. */
  label?: string;
}

/** Something to copy and use elsewhere: a link, a client id, a key shown once. */
export function CopyField({ value, label }: CopyFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const [copied, copy] = useCopy(value, () => input.current?.select());
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
      <Button onClick={copy} icon={copied ? <Check className="size-4" /> : <Copy className="size-4" />}>
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
      </Button>
    </div>
  );
}
