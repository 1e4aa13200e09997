/**
 * Stands in for the package `react-style-singleton`, which Radix's scroll lock uses: the same component, but through
 * an adopted style sheet. The package writes a <style> element, and the content security policy allows none.
 */
import { useEffect, useState } from 'react';

interface StyleProps {
  readonly styles: string;
  readonly dynamic?: boolean;
}

/** A component that applies `styles` while at least one of it is mounted; `dynamic` follows later changes of them. */
export function styleSingleton(): (props: StyleProps) => null {
  let mounted = 0;
  let sheet: CSSStyleSheet | null = null;

  return function Style({ styles, dynamic }) {
    const [first] = useState(styles);
    const applied = dynamic ? styles : first;
    useEffect(() => {
      // The sheet that is mounted first holds for all, until the last of them is gone.
      if (mounted === 0) {
        sheet = new CSSStyleSheet();
        sheet.replaceSync(applied);
        document.adoptedStyleSheets.push(sheet);
      }
      mounted += 1;
      return () => {
        mounted -= 1;
        if (mounted === 0) {
          document.adoptedStyleSheets = document.adoptedStyleSheets.filter((adopted) => adopted !== sheet);
        }
      };
    }, [applied]);
    return null;
  };
}
