/**
 * Replaces the package `react-style-singleton`, which Radix's scroll lock uses: the same component, but with an adopted
 * style sheet. The package writes a <style> element, which the content security policy does not allow.
 */
import { useEffect, useState } from 'react';

interface StyleProps {
  readonly styles: string;
  readonly dynamic?: boolean;
}

/**
 * Returns a component that applies `styles` while at least one instance is mounted; with `dynamic` it follows later
 * changes of them.
 */
export function styleSingleton(): (props: StyleProps) => null {
  let mounted = 0;
  let sheet: CSSStyleSheet | null = null;

  return function Style({ styles, dynamic }) {
    const [first] = useState(styles);
    const applied = dynamic ? styles : first;
    useEffect(() => {
      // The sheet of the first mounted instance applies until the last one is unmounted.
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
