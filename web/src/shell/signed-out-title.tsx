import type { ReactNode, RefObject } from 'react';

interface SignedOutTitleProps {
  title: string;
  children?: ReactNode;
  /** For a heading that is focused when it replaces a form. */
  ref?: RefObject<HTMLHeadingElement | null>;
}

/** The heading of a page before signing in, with a sentence about its purpose. */
export function SignedOutTitle({ title, children, ref }: SignedOutTitleProps) {
  return (
    <div className="mb-5 text-center">
      <h1 ref={ref} tabIndex={ref && -1} className="font-serif text-2xl font-semibold text-balance text-ink">
        {title}
      </h1>
      {children && <p className="mt-2 text-balance text-soft">{children}</p>}
    </div>
  );
}
