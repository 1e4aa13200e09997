import { useEffect, useState } from 'react';

interface Draft {
  /** What was typed and is not settled yet. */
  text: string | null;
  seen: string;
  sent: string;
}

/**
 * Text that is settled a moment after the last key: for a search that is kept in the address. What is typed meanwhile
 * is never lost; a change from elsewhere, such as the back button, takes its place.
 */
export function useDraft(
  settled: string,
  settle: (text: string) => void,
  restMillis = 200,
): [text: string, type: (text: string) => void] {
  const [draft, setDraft] = useState<Draft>({ text: null, seen: settled, sent: settled });
  if (settled !== draft.seen) {
    const typedOn = settled === draft.sent && draft.text !== settled;
    setDraft({ ...draft, seen: settled, text: typedOn ? draft.text : null });
  }
  const { text } = draft;
  useEffect(() => {
    if (text === null || text === settled) return;
    const rest = setTimeout(() => {
      setDraft((before) => ({ ...before, sent: text }));
      settle(text);
    }, restMillis);
    return () => clearTimeout(rest);
  }, [text, settled, settle, restMillis]);
  return [text ?? settled, (typed) => setDraft((before) => ({ ...before, text: typed }))];
}
