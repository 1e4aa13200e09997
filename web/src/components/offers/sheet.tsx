import type { ReactNode } from 'react';
import type { OfferPayload } from '../../api/shapes.ts';
import { Heading } from '../heading.tsx';
import { StructureBar } from './structure-bar.tsx';
import { conditionTerms, partTerms, TermLabel, wordsOf, type Term } from './terms.tsx';

interface OfferSheetProps {
  /** The accessible name of the offer. */
  label: string;
  name: ReactNode;
  note: ReactNode;
  price: ReactNode;
  belowPrice?: ReactNode;
  payload: OfferPayload;
  /** When the offer expires. */
  standing: ReactNode;
  /** The available actions. */
  children?: ReactNode;
}

/** One buyer's offer by itself: on phones, and when there is no other offer to compare it with. */
export function OfferSheet({ label, name, note, price, belowPrice, payload, standing, children }: OfferSheetProps) {
  const words = wordsOf(payload);
  const conditions: readonly Term[] = [
    ...conditionTerms,
    { key: 'standing', label: 'Valid until', says: () => standing },
  ];
  return (
    <article aria-label={label} className="px-4 py-4 sm:px-5">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <div className="min-w-0">
          <Heading className="truncate text-md font-semibold text-ink">{name}</Heading>
          <p className="text-sm text-faint">{note}</p>
        </div>
        <div className="sm:text-right">
          {price}
          {belowPrice && <p className="mt-0.5 text-sm">{belowPrice}</p>}
        </div>
      </header>
      <StructureBar payload={payload} className="my-4" />
      <div className="grid gap-x-10 sm:grid-cols-2">
        {[partTerms, conditions].map((terms) => (
          <dl key={terms[0]?.key} className="flex flex-col">
            {terms.map((term) => (
              <div
                key={term.key}
                className="flex items-baseline justify-between gap-4 border-b border-line py-2 last:border-0 max-sm:last:border-b"
              >
                <dt className="text-sm text-faint">
                  <TermLabel term={term} />
                </dt>
                <dd className="text-right tabular">{term.says(payload)}</dd>
              </div>
            ))}
          </dl>
        ))}
      </div>
      {words && (
        <div className="mt-3 sm:border-t sm:border-line sm:pt-4">
          <Heading below className="mb-1 text-sm text-faint">
            Terms
          </Heading>
          {words}
        </div>
      )}
      {children && <div className="mt-4">{children}</div>}
    </article>
  );
}
