import { useEffect, useEffectEvent, useState, type ReactNode } from 'react';
import { SearchInput } from './input.tsx';

interface Draft {
  /** What was typed and is not settled yet. */
  text: string | null;
  seen: string;
  sent: string;
}

/** How long nothing is typed until a search begins. */
const restMillis = 200;

/**
 * Text that is settled a moment after the last key. What is typed meanwhile is never lost; a change from elsewhere, such
 * as the back button, takes its place.
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
  /** What is searched: the search's name. */
  label: string;
  search: string;
  /** Searches, a moment after the last key. */
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
