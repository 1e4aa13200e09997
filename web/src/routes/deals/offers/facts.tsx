/** An offer's price compared with the asking price. */
import type { Offer } from '../../../api/shapes.ts';
import { Money } from '../../../components/money.tsx';
import { none } from '../../../components/offers/terms.tsx';
import { compare, negate, shareOf, sum } from '../../../lib/decimal.ts';
import { formatShare } from '../../../lib/format.ts';
import { useDeal } from '../context.ts';

/**
 * The difference between an offer's price and the asking price; `inWords` adds "against the asking price", for places
 * without a label.
 */
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
