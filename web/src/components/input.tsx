import { ChevronDown, Eye, EyeOff, Search, X } from 'lucide-react';
import {
  useRef,
  useState,
  type InputHTMLAttributes,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import { cx } from '../lib/cx.ts';
import { useControl } from './field.tsx';

interface InputProps extends InputHTMLAttributes<HTMLInputElement> {
  ref?: Ref<HTMLInputElement>;
}

/** A line of text. */
export function Input({ className, ...rest }: InputProps) {
  return <input type="text" {...useControl()} {...rest} className={cx('control', className)} />;
}

/** A password, with a button to show the typed text. */
export function PasswordInput({ className, ...rest }: InputProps) {
  const [shown, setShown] = useState(false);
  return (
    <div className="relative">
      <input
        {...useControl()}
        autoCapitalize="off"
        spellCheck={false}
        {...rest}
        type={shown ? 'text' : 'password'}
        className={cx('control pr-11', className)}
      />
      <button
        type="button"
        aria-label="Show password"
        aria-pressed={shown}
        onClick={() => setShown(!shown)}
        className="absolute inset-y-0 right-0 grid w-10 place-items-center rounded-r-md text-faint hover:text-ink"
      >
        {shown ? <EyeOff className="size-4" /> : <Eye className="size-4" />}
      </button>
    </div>
  );
}

interface SearchInputProps {
  /** The accessible name: "Search deals". */
  label: string;
  value: string;
  onChange: (value: string) => void;
  className?: string;
}

/** Characters of a search that the server takes. */
export const longestSearch = 200;

/** A search box with a button that clears it; Escape clears it too. */
export function SearchInput({ label, value, onChange, className }: SearchInputProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div role="search" className={cx('relative', className)}>
      <Search className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-faint" aria-hidden />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        maxLength={longestSearch}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && value !== '') {
            event.preventDefault();
            onChange('');
          }
        }}
        className="control px-9 [&::-webkit-search-cancel-button]:hidden"
      />
      {value !== '' && (
        <button
          type="button"
          aria-label="Clear search"
          onClick={() => {
            onChange('');
            input.current?.focus();
          }}
          className="absolute inset-y-0 right-0 grid w-9 place-items-center rounded-r-md text-faint hover:text-ink"
        >
          <X className="size-4" />
        </button>
      )}
    </div>
  );
}

interface TextareaProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  ref?: Ref<HTMLTextAreaElement>;
}

/**
 * Several lines of text; grows with its content. With `maxLength` it shows the remaining characters when few are left.
 */
export function Textarea({ className, rows = 4, ...rest }: TextareaProps) {
  const left = rest.maxLength === undefined ? Infinity : rest.maxLength - String(rest.value ?? '').length;
  return (
    <div className="relative">
      <textarea
        {...useControl()}
        rows={rows}
        {...rest}
        className={cx('control block max-h-96 resize-y py-2 [field-sizing:content]', className)}
      />
      {left <= 200 && (
        <span className="absolute right-2 bottom-1.5 rounded-sm bg-surface px-1 text-xs text-faint tabular" aria-hidden>
          {left}
        </span>
      )}
    </div>
  );
}

interface SelectProps<V extends string> extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> {
  value: V | '';
  onChange: (value: V) => void;
  options: readonly { value: V; label: string; disabled?: boolean }[];
  /** Shown until a required choice is made. An optional choice has an option of its own for none. */
  placeholder?: string;
  ref?: Ref<HTMLSelectElement>;
}

/**
 * A choice of few options: the platform's own list, familiar on every phone and screen reader. For many options, use a
 * Combobox.
 */
export function Select<V extends string>({
  value,
  onChange,
  options,
  placeholder,
  className,
  ...rest
}: SelectProps<V>) {
  return (
    <div className="relative">
      <select
        {...useControl()}
        {...rest}
        value={value}
        onChange={(event) => onChange(event.target.value as V)}
        className={cx('control appearance-none truncate pr-9', value === '' && 'text-faint', className)}
      >
        {placeholder !== undefined && (
          <option value="" disabled hidden>
            {placeholder}
          </option>
        )}
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown
        className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-faint"
        aria-hidden
      />
    </div>
  );
}
