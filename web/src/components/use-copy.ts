import { useEffect, useState } from 'react';
import { toast } from './toast.tsx';

/**
 * Copies a text; whether that was just done, and how to do it. Without the right to the clipboard, or on no secure origin, `select` selects the text to
 * be copied by hand.
 */
export function useCopy(value: string, select: () => void): [copied: boolean, copy: () => void] {
  const [copied, setCopied] = useState(false);
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
      select();
      toast('Selected: press Ctrl+C or ⌘C to copy.');
    }
  };
  return [copied, () => void copy()];
}
