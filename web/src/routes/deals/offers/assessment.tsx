/** The part of the page below the offers: their figures against the books, and the consequences of accepting one. */
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../api/client.ts';
import { assessmentQuery } from '../../../api/offers.ts';
import type { Offer, OfferAssessment, TypedTerms } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { isCompared } from '../../../components/offers/payload.ts';
import { ErrorState } from '../../../components/states.tsx';
import { paths } from '../../../paths.ts';
import { useDeal } from '../context.ts';
import { CoverageCard, SbaCard } from './acceptance.tsx';
import { offersRoute, typedIn, type OffersSearch } from './search.ts';
import { SideBySide } from './side-by-side.tsx';
import { AddBackValues, calls, OfferValuations } from './valuation.tsx';

interface FiguresProps {
  offers: readonly Offer[];
  data: OfferAssessment;
  typed: TypedTerms;
  onTyped: (typed: TypedTerms) => void;
  /** The id of the offer that the person chose. */
  chosen: string | undefined;
  onChosen: (id: string) => void;
}

/** The consequences of accepting one of the offers. */
function IfAccepted({ offers, data, typed, onTyped, chosen, onChosen }: FiguresProps) {
  const offer = offers.find(({ id }) => id === chosen) ?? offers.find(({ agreed }) => agreed) ?? offers[0];
  const worth = data.offers.find(({ offer_id }) => offer_id === offer?.id);
  if (!offer || !worth) return null;
  const { basis, sba_rules: rules } = data;
  const hasMore = worth.coverage !== null || worth.paid_for !== null || worth.sba !== null;
  return (
    <>
      {hasMore && offers.length > 1 && (
        <Field label="If it were accepted" className="sm:max-w-80">
          <Select
            value={offer.id}
            onChange={onChosen}
            options={offers.map((one) => ({ value: one.id, label: calls(one) }))}
          />
        </Field>
      )}
      {basis && worth.coverage && (
        <CoverageCard
          offerId={offer.id}
          coverage={worth.coverage}
          basis={basis}
          name={calls(offer)}
          typed={typed}
          onTyped={onTyped}
        />
      )}
      <AddBackValues basis={basis} worth={worth} />
      <SbaCard worth={worth} rules={rules} name={calls(offer)} />
    </>
  );
}

/**
 * The figures of the shown offers, as far as the reader may see their sources; renders nothing while they are loading.
 */
export function Assessment({ offers }: { offers: readonly Offer[] }) {
  const { deal } = useDeal();
  const search = offersRoute.useSearch();
  const navigate = offersRoute.useNavigate();
  const typed = typedIn(search);
  const { data, error, isPending, refetch } = useQuery(assessmentQuery(deal.id, typed));
  const keep = (kept: OffersSearch) =>
    void navigate({
      to: paths.dealOffers,
      params: { dealId: deal.id },
      search: kept,
      replace: true,
      resetScroll: false,
    });
  const { first, second, accepted } = search;
  const setTyped = (terms: TypedTerms) =>
    keep({ ...(first && { first }), ...(second && { second }), ...(accepted && { accepted }), ...terms });
  if (isPending) return null;
  if (error instanceof ApiError && error.code === 'validation_error')
    return (
      <Notice title="Nothing can be computed with the terms in this page’s address">
        <Button size="sm" onClick={() => setTyped({})}>
          Remove them
        </Button>
      </Notice>
    );
  const assessed = offers.filter(({ id }) => data?.offers.some(({ offer_id }) => offer_id === id));
  const hasFigures = data?.offers.some(({ money, multiples }) => money !== null || multiples !== null) ?? false;
  return (
    <>
      {data && hasFigures && (
        <OfferValuations
          assessment={data}
          offers={assessed}
          more={offers.filter(isCompared).length > assessed.length}
          onPeriod={(period_label) => setTyped({ ...typed, period_label })}
        />
      )}
      {error && !data && (
        <Card flush>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Card>
      )}
      <SideBySide offers={offers} best={data?.compared} typed={typed} />
      {data && hasFigures && (
        <IfAccepted
          offers={assessed}
          data={data}
          typed={typed}
          onTyped={setTyped}
          chosen={accepted}
          onChosen={(id) => keep({ ...search, accepted: id })}
        />
      )}
    </>
  );
}
