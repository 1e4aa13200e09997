import { createContext, useContext, type ComponentProps } from 'react';

/** The level of the headings of what stands in a card: 3 on pages, whose cards have 2; 2 where a view is all there is. */
export const HeadingLevel = createContext<2 | 3>(3);

/** A heading of what stands in a card; `below` it, of a part of that. */
export function Heading({ below = false, ...rest }: ComponentProps<'h3'> & { below?: boolean }) {
  const level = useContext(HeadingLevel) + (below ? 1 : 0);
  const Element = level === 2 ? 'h2' : level === 3 ? 'h3' : 'h4';
  return <Element {...rest} />;
}
