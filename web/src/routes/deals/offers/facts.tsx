/** What is shown of an offer beyond its terms: how it compares with what is asked. */
import type { Offer } from '../../../api/shapes.ts';
import { Money } from '../../../components/money.tsx';
import { none } from '../../../components/offers/terms.tsx';
import { compare, negate, shareOf, sum } from '../../../lib/decimal.ts';
import { formatShare } from '../../../lib/format.ts';
import { useDeal } from '../context.ts';

/** How far a price is from what is asked; `inWords` says so itself, for where no label does. */
export function AgainstAsking({ offer, inWords = false }: { offer: Offer; inWords?: boolean }) {
  const { deal } = useDeal();
  const { purchase_price: price, currency } = offer.payload;
  if (!price || deal.asking_price === null || currency !== deal.currency) return inWords ? null : none;
  const difference = sum([price, negate(deal.asking_price)]);
  const share = shareOf(difference, deal.asking_price);
  if (compare(difference, '0') === 0) return <>At asking price</>;
  return (
    <span className={compare(difference, '0') > 0 ? 'text-good' : 'text-soft'}>
      <Money amount={difference} currency={currency} signed />
      {share !== null && ` (${formatShare(share, { signed: true })})`}
      {inWords && <span className="text-faint"> against the asking price</span>}
    </span>
  );
}
