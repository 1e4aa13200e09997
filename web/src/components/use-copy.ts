import { useEffect, useState } from 'react';
import { toast } from './toast.tsx';

/**
 * Returns whether a text was just copied, and the function that copies it. Without access to the clipboard, or on an
 * insecure origin, `select` selects the text to be copied by hand.
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
