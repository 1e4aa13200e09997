/** A search box with a list of what can be chosen below it, as a combobox for screen readers. */
import { CornerDownLeft, Search } from 'lucide-react';
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';

export interface Option {
  /** Unique in the list. */
  readonly id: string;
  readonly icon: ReactNode;
  readonly children: ReactNode;
  readonly run: () => void;
}

export interface OptionGroup {
  readonly heading: string;
  readonly options: readonly Option[];
}

interface OptionListProps {
  label: string;
  placeholder: string;
  typed: string;
  onType: (typed: string) => void;
  maxLength: number;
  groups: readonly OptionGroup[];
  /** Shown above the groups. */
  children: ReactNode;
}

/** How far a key moves in the list. */
function stepOf({ key, ctrlKey }: KeyboardEvent): number {
  if (key === 'ArrowDown' || (ctrlKey && (key === 'n' || key === 'j'))) return 1;
  if (key === 'ArrowUp' || (ctrlKey && key === 'p')) return -1;
  return 0;
}

/** The first option is selected until the person moves to another; typing starts at the first again. */
export function OptionList({ label, placeholder, typed, onType, maxLength, groups, children }: OptionListProps) {
  const base = useId();
  const list = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<string | null>(null);
  const options = groups.flatMap((group) => group.options);
  const at = Math.max(
    options.findIndex(({ id }) => id === moved),
    0,
  );
  const selected = options[at];
  const idOf = (option: Option) => `${base}-${option.id}`;
  const selectedId = selected && idOf(selected);
  useEffect(() => {
    if (selectedId === undefined) return;
    // The heading above the first option comes into view with it.
    if (at === 0) list.current?.scrollTo({ top: 0 });
    else document.getElementById(selectedId)?.scrollIntoView({ block: 'nearest' });
  }, [selectedId, at]);
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter and arrows also choose among what an input method suggests.
    if (event.nativeEvent.isComposing || event.keyCode === 229 || options.length === 0) return;
    const step = stepOf(event);
    const next =
      event.key === 'Home' ? 0 : event.key === 'End' ? options.length - 1 : step !== 0 ? at + step : undefined;
    if (next !== undefined) {
      event.preventDefault();
      setMoved(options.at(next % options.length)?.id ?? null);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      selected?.run();
    }
  };
  return (
    <>
      <div className="flex items-center gap-3 border-b border-line pr-14 pl-4">
        <Search className="size-4.5 shrink-0 text-faint" aria-hidden />
        <input
          type="text"
          role="combobox"
          aria-label={label}
          aria-autocomplete="list"
          aria-expanded={options.length > 0}
          aria-controls={`${base}-list`}
          aria-activedescendant={selectedId}
          autoComplete="off"
          autoCorrect="off"
          spellCheck={false}
          maxLength={maxLength}
          value={typed}
          onChange={(event) => {
            setMoved(null);
            onType(event.target.value);
          }}
          onKeyDown={onKeyDown}
          placeholder={placeholder}
          className="w-full bg-transparent py-3.5 text-md outline-none placeholder:text-faint"
        />
      </div>
      {children}
      {options.length > 0 && (
        <div
          ref={list}
          role="listbox"
          id={`${base}-list`}
          aria-label="Suggestions"
          tabIndex={-1}
          className="max-h-[min(26rem,60dvh)] overflow-y-auto p-2"
        >
          {groups.map(({ heading, options: inGroup }, index) => (
            <div key={heading} role="group" aria-labelledby={`${base}-heading-${index}`}>
              <div
                id={`${base}-heading-${index}`}
                aria-hidden
                className="px-3 pt-3 pb-1 text-xs font-medium text-faint"
              >
                {heading}
              </div>
              {inGroup.map((option) => (
                <button
                  key={option.id}
                  id={idOf(option)}
                  type="button"
                  role="option"
                  tabIndex={-1}
                  aria-selected={option === selected}
                  onPointerMove={() => setMoved(option.id)}
                  // Keeps the focus in the search box.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={option.run}
                  className="group flex w-full cursor-pointer items-center gap-3 rounded-md px-3 py-2 text-left text-ink select-none aria-selected:bg-accent-wash coarse:min-h-12 [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint"
                >
                  {option.icon}
                  <span className="flex min-w-0 flex-1 items-center justify-between gap-3">{option.children}</span>
                  <CornerDownLeft className="invisible group-aria-selected:visible" aria-hidden />
                </button>
              ))}
            </div>
          ))}
        </div>
      )}
    </>
  );
}
