/** Below the offers themselves: what they come to against the books, and what accepting one would mean. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { worthQuery } from '../../../api/offers.ts';
import type { Offer, TypedTerms } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { useDeal } from '../context.ts';
import { CoverageCard, SbaCard } from './acceptance.tsx';
import { AddBacksWorth, calls, OffersWorth, TwoBest } from './worth.tsx';

/** The figures of the offers that are shown, as far as the reader may see what they are computed of; nothing until they are there. */
export function Assessment({ offers }: { offers: readonly Offer[] }) {
  const { deal } = useDeal();
  const [typed, setTyped] = useState<TypedTerms>({});
  const [chosen, setChosen] = useState<string | null>(null);
  const { data } = useQuery(worthQuery(deal.id, typed));
  if (!data || data.offers.every(({ money, multiples }) => money === null && multiples === null)) return null;
  const told = offers.filter(({ id }) => data.offers.some(({ offer_id }) => offer_id === id));
  const offer = told.find(({ id }) => id === chosen) ?? told.find(({ agreed }) => agreed) ?? told[0];
  const worth = data.offers.find(({ offer_id }) => offer_id === offer?.id);
  if (!offer || !worth) return null;
  const { basis, sba_rules: rules } = data;
  const hasMore = worth.coverage !== null || worth.paid_for !== null || worth.sba !== null;
  return (
    <>
      <OffersWorth assessment={data} offers={told} onPeriod={(period_label) => setTyped({ ...typed, period_label })} />
      <TwoBest assessment={data} offers={told} />
      {hasMore && told.length > 1 && (
        <Field label="If it were accepted" className="sm:max-w-80">
          <Select
            value={offer.id}
            onChange={setChosen}
            options={told.map((one) => ({ value: one.id, label: calls(one) }))}
          />
        </Field>
      )}
      {basis && worth.coverage && (
        <CoverageCard coverage={worth.coverage} basis={basis} name={calls(offer)} typed={typed} onTyped={setTyped} />
      )}
      <AddBacksWorth basis={basis} worth={worth} />
      <SbaCard worth={worth} rules={rules} name={calls(offer)} />
    </>
  );
}
