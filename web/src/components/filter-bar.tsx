import { useEffect, useEffectEvent, useState, type ReactNode } from 'react';
import { SearchInput } from './input.tsx';

interface Draft {
  /** Typed text that was not sent yet; null when there is none. */
  text: string | null;
  seen: string;
  sent: string;
}

/** Milliseconds without typing after which a search starts. */
const restMillis = 200;

/**
 * Returns text that is debounced, and its setter. Text typed meanwhile is never lost; a change from elsewhere, such as
 * the back button, replaces it.
 */
function useSettled(settled: string, settle: (text: string) => void): [text: string, type: (text: string) => void] {
  const [draft, setDraft] = useState<Draft>({ text: null, seen: settled, sent: settled });
  if (settled !== draft.seen) {
    const typedOn = settled === draft.sent && draft.text !== settled;
    setDraft({ ...draft, seen: settled, text: typedOn ? draft.text : null });
  }
  const { text } = draft;
  const begin = useEffectEvent(settle);
  useEffect(() => {
    if (text === null || text === settled) return;
    const rest = setTimeout(() => {
      setDraft((before) => ({ ...before, sent: text }));
      begin(text);
    }, restMillis);
    return () => clearTimeout(rest);
  }, [text, settled]);
  return [text ?? settled, (typed) => setDraft((before) => ({ ...before, text: typed }))];
}

interface FilterBarProps {
  /** The accessible name of the search. */
  label: string;
  search: string;
  /** Searches, {@link restMillis} after the last key. */
  onSearch: (search: string) => void;
  /** Further filters. */
  children?: ReactNode;
}

/** The search and the filters above a list. */
export function FilterBar({ label, search, onSearch, children }: FilterBarProps) {
  const [typed, type] = useSettled(search, onSearch);
  return (
    <div className="flex flex-wrap gap-2.5 border-b border-line p-3">
      <SearchInput label={label} value={typed} onChange={type} className="min-w-0 flex-[1_1_14rem] sm:max-w-80" />
      {children}
    </div>
  );
}
