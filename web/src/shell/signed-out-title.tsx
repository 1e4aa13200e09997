import type { ReactNode } from 'react';

/** The heading of a page before signing in, with a sentence on what it is for. */
export function SignedOutTitle({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mb-5 text-center">
      <h1 className="font-serif text-2xl font-semibold text-balance text-ink">{title}</h1>
      {children && <p className="mt-2 text-balance text-soft">{children}</p>}
    </div>
  );
}
