import { Command } from 'cmdk';
import { Check, ChevronDown } from 'lucide-react';
import { Popover } from 'radix-ui';
import { useId, useState } from 'react';
import { cx } from '../lib/cx.ts';
import { useControl } from './field.tsx';
import { useLayer } from './layer.tsx';

export interface ComboboxOption {
  value: string;
  label: string;
  /** A second line: an address, a role. */
  detail?: string;
}

interface ComboboxProps {
  value: string | null;
  onChange: (value: string | null) => void;
  options: readonly ComboboxOption[];
  placeholder?: string;
  /** Adds a first entry that chooses none, such as "Nobody". */
  none?: string;
  /** Called with what is typed: the options then come already filtered. */
  onSearch?: (text: string) => void;
  /** Said when nothing fits. */
  empty?: string;
  disabled?: boolean;
}

const entry =
  'flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 select-none data-[selected=true]:bg-hover coarse:min-h-11';

/** One of many: a list that is searched by typing. */
export function Combobox(props: ComboboxProps) {
  const { value, onChange, options, placeholder = 'Choose…', none, onSearch, empty = 'No matches.', disabled } = props;
  const [open, setOpen] = useState(false);
  const listId = useId();
  const chosen = options.find((option) => option.value === value);
  const choose = (next: string | null) => {
    onChange(next);
    setOpen(false);
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <button
          type="button"
          role="combobox"
          aria-expanded={open}
          aria-controls={open ? listId : undefined}
          aria-haspopup="dialog"
          disabled={disabled}
          {...useControl()}
          className="control flex items-center justify-between gap-2 text-left"
        >
          <span className={cx('truncate', !chosen && 'text-faint')}>{chosen?.label ?? none ?? placeholder}</span>
          <ChevronDown className="size-4 shrink-0 text-faint" aria-hidden />
        </button>
      </Popover.Trigger>
      <Popover.Portal container={useLayer()}>
        <Popover.Content
          id={listId}
          align="start"
          sideOffset={6}
          collisionPadding={8}
          className="appear-pop z-60 w-(--radix-popover-trigger-width) min-w-64 overflow-hidden rounded-lg border border-line bg-surface shadow-2"
        >
          <Command shouldFilter={!onSearch} label={placeholder}>
            <Command.Input
              placeholder="Type to search"
              {...(onSearch && { onValueChange: onSearch })}
              className="w-full border-b border-line bg-transparent px-3.5 py-2.5 outline-none placeholder:text-faint coarse:text-md"
            />
            <Command.List className="max-h-72 overflow-y-auto p-1.5">
              <Command.Empty className="px-2.5 py-4 text-center text-faint">{empty}</Command.Empty>
              {none !== undefined && (
                <Command.Item value={`${none} none`} onSelect={() => choose(null)} className={entry}>
                  <span className="flex-1 text-soft">{none}</span>
                  {value === null && <Check className="size-4 text-accent" aria-hidden />}
                </Command.Item>
              )}
              {options.map((option) => (
                <Command.Item
                  key={option.value}
                  value={`${option.label} ${option.detail ?? ''} ${option.value}`}
                  onSelect={() => choose(option.value)}
                  className={entry}
                >
                  <span className="min-w-0 flex-1">
                    <span className="block truncate">{option.label}</span>
                    {option.detail && <span className="block truncate text-sm text-faint">{option.detail}</span>}
                  </span>
                  {option.value === value && <Check className="size-4 shrink-0 text-accent" aria-hidden />}
                </Command.Item>
              ))}
            </Command.List>
          </Command>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
