import { createContext, useContext, type ComponentProps } from 'react';

/** The level of headings inside a card: 3 on pages, whose cards have level 2; 2 in a standalone view. */
export const HeadingLevel = createContext<2 | 3>(3);

/** A heading inside a card; with `below`, one level lower. */
export function Heading({ below = false, ...rest }: ComponentProps<'h3'> & { below?: boolean }) {
  const level = useContext(HeadingLevel) + (below ? 1 : 0);
  const Element = level === 2 ? 'h2' : level === 3 ? 'h3' : 'h4';
  return <Element {...rest} />;
}
