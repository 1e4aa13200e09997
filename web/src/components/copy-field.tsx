import { Check, Copy } from 'lucide-react';
import { useRef } from 'react';
import { useCopy } from './use-copy.ts';
import { Button } from './button.tsx';
import { useControl } from './field.tsx';

interface CopyFieldProps {
  value: string;
  /** What is copied, for screen readers: part of the button's name, and the name of the input outside of a Field. */
  label: string;
}

/** A value to copy and use elsewhere: a link, a client id, a key shown once. */
export function CopyField({ value, label }: CopyFieldProps) {
  const control = useControl();
  const input = useRef<HTMLInputElement>(null);
  const [copied, copy] = useCopy(value, () => input.current?.select());
  return (
    <div className="flex gap-2">
      <input
        {...control}
        ref={input}
        readOnly
        value={value}
        aria-label={control.id === undefined ? label : undefined}
        onFocus={(event) => event.target.select()}
        className="control min-w-0 flex-1 truncate bg-sunken font-mono text-sm coarse:text-md"
      />
      <Button onClick={copy} icon={copied ? <Check className="size-4" /> : <Copy className="size-4" />}>
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
        <span className="sr-only"> {label}</span>
      </Button>
    </div>
  );
}
