/**
 * The consequences of accepting an offer: whether its debt is covered, also with terms typed in, and the SBA's rules.
 */
import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../../api/client.ts';
import { assessmentQuery } from '../../../api/offers.ts';
import type { Id, OfferAssessment, OfferValuation, TypedTerms } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { Input } from '../../../components/input.tsx';
import { Money } from '../../../components/money.tsx';
import { Notice } from '../../../components/notice.tsx';
import { DayText } from '../../../components/time.tsx';
import { MoneyField } from '../../../components/value-fields.tsx';
import { compare } from '../../../lib/decimal.ts';
import { formatDates } from '../../../lib/format.ts';
import { useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';
import { termNames, type TermName } from './search.ts';
import { Figures, times } from './valuation.tsx';

const fields: readonly {
  name: Exclude<TermName, 'equity'>;
  label: string;
  hint: string;
  mode: 'decimal' | 'numeric';
}[] = [
  { name: 'rate', label: 'Loan interest rate', hint: 'Annual rate in percent, such as 10.25.', mode: 'decimal' },
  { name: 'years', label: 'Loan term (years)', hint: 'At most 40.', mode: 'numeric' },
  { name: 'note_rate', label: 'Seller note interest rate', hint: 'Same as the loan if left empty.', mode: 'decimal' },
  { name: 'note_years', label: 'Seller note term (years)', hint: 'Same as the loan if left empty.', mode: 'numeric' },
  { name: 'note_standby', label: 'Seller note standby (years)', hint: 'Years without a payment.', mode: 'numeric' },
];

interface TermsFormProps {
  /** The offer whose coverage is computed with the terms. */
  offerId: Id;
  typed: TypedTerms;
  onTyped: (typed: TypedTerms) => void;
  currency: string;
}

const nothing: Record<TermName, string> = {
  rate: '',
  years: '',
  note_rate: '',
  note_years: '',
  note_standby: '',
  equity: '',
};

const missingWords = { rate: 'Also enter the rate.', years: 'Also enter the term.' } as const;

/** The missing terms, by field, when some were typed in but coverage by year could not be computed with them. */
function missingTerms(
  values: typeof nothing,
  coverage: OfferValuation['coverage'] | undefined,
): { path: TermName; message: string }[] {
  const has = (name: TermName) => values[name].trim() !== '';
  if (!coverage || coverage.years !== null || !fields.some(({ name }) => has(name))) return [];
  // A node of the previous release does not send `bank`.
  const isBorrowed = compare(coverage.bank ?? '0', '0') > 0;
  return (['rate', 'years'] as const).flatMap((term) => {
    // The loan's terms apply to a seller note without terms of its own.
    if (has(term) || (!isBorrowed && has(`note_${term}`))) return [];
    const other = term === 'rate' ? 'years' : 'rate';
    const isOfLoan = isBorrowed || (has(other) && !has(`note_${other}`));
    return [{ path: isOfLoan ? term : (`note_${term}` as const), message: missingWords[term] }];
  });
}

/** A typed term, with a decimal point: keypads of many languages have only a comma, which in terms groups nothing. */
const termOf = (typed: string): string => typed.trim().replace(/^(\d+),(\d+)$/, '$1.$2');

/** The form for loan terms to try out; they are kept only in the page's address. */
function TermsForm({ offerId, typed, onTyped, currency }: TermsFormProps) {
  const { deal } = useDeal();
  const client = useQueryClient();
  const withTerms = (values: typeof nothing): TypedTerms => ({
    ...(typed.period_label && { period_label: typed.period_label }),
    ...Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) => (value.trim() === '' ? [] : [[name, termOf(value)]])),
    ),
  });
  const form = useForm({
    initial: { ...nothing, ...Object.fromEntries(termNames.map((name) => [name, typed[name] ?? ''])) },
    draft: null,
    submit: async (values) => {
      // The amount borrowed depends on the financing and the equity typed in, so only the response shows which terms
      // are needed.
      const { offers } = await client.fetchQuery(assessmentQuery(deal.id, withTerms(values)));
      const details = missingTerms(values, offers.find(({ offer_id }) => offer_id === offerId)?.coverage);
      if (details.length > 0)
        throw new ApiError(422, { code: 'validation_error', message: 'Some terms are missing.', details });
    },
    onDone: (_found, values) => onTyped(withTerms(values)),
  });
  return (
    <form {...form.props} className="mt-4 border-t border-line pt-4">
      <div className="grid grid-cols-2 gap-x-4 gap-y-3 md:grid-cols-3">
        {fields.map(({ name, label, hint, mode }) => (
          <Field key={name} label={label} hint={hint} error={form.errors[name]} optional>
            <Input inputMode={mode} autoComplete="off" {...form.text(name)} />
          </Field>
        ))}
        <Field
          label="Buyer’s equity injection"
          hint="Money that is not borrowed."
          error={form.errors['equity']}
          optional
        >
          <MoneyField {...form.field('equity')} currency={currency} />
        </Field>
      </div>
      {form.fault && (
        <Notice tone="bad" className="mt-3">
          {form.fault}
        </Notice>
      )}
      <div className="mt-4 flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button type="submit" pending={form.pending}>
          Calculate coverage by year
        </Button>
        <p className="text-sm text-faint">
          What you enter is kept only in this page’s address, so a link to the page shows the same result.
        </p>
      </div>
    </form>
  );
}

interface CoverageCardProps extends Omit<TermsFormProps, 'currency'> {
  coverage: NonNullable<OfferValuation['coverage']>;
  basis: NonNullable<OfferAssessment['basis']>;
  name: string;
}

/** Whether the business's earnings cover the debt of an offer. */
export function CoverageCard({ coverage, basis, name, ...form }: CoverageCardProps) {
  const {
    debt,
    debt_is: is,
    sentences,
    without_largest: without,
    years,
    years_without_largest: yearsWithout,
  } = coverage;
  const withoutOf = (year: number) => yearsWithout?.find((one) => one.year === year)?.coverage;
  return (
    <Card
      title="Debt service coverage (DSCR)"
      description={
        <>
          {name}: <Money amount={debt} currency={basis.currency} />{' '}
          {is === 'recorded'
            ? 'of debt, as recorded in its financing, with the seller note'
            : 'of debt (cash and seller note, because you see no loan recorded by the buyer’s side)'}
          . Based on adjusted EBITDA of {basis.period} ({formatDates(basis)}), assumed to stay the same each year.
        </>
      }
    >
      <ul className="flex flex-col gap-1.5">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {without && (
        <>
          <p className="mt-4 text-sm font-medium text-ink">
            Without {without.customer}, the largest customer (EBITDA{' '}
            <Money rounded amount={without.ebitda} currency={basis.currency} />
            {without.customer_period &&
              `, with the revenue of ${formatDates(without.customer_period)}: there are no twelve months of customers of the same dates`}
            )
          </p>
          <ul className="mt-1 flex flex-col gap-1.5">
            {without.sentences.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </>
      )}
      <TermsForm {...form} currency={basis.currency} />
      {years && (
        <div className="mt-4 -mx-4 sm:-mx-5">
          <Figures
            label="Coverage by year"
            head={['Year', 'Debt service', 'Coverage', ...(without ? [`Without ${without.customer}`] : [])]}
            rows={years.map(({ year, paid, coverage: covered }) => ({
              key: String(year),
              cells: [
                year,
                <Money key="paid" rounded amount={paid} currency={basis.currency} />,
                times(covered),
                ...(without ? [times(withoutOf(year))] : []),
              ],
            }))}
          />
        </div>
      )}
    </Card>
  );
}

const looks = {
  met: { tone: 'good', label: 'Met' },
  not_met: { tone: 'bad', label: 'Not met' },
  ask: { tone: 'warn', label: 'Ask' },
} as const;

/** The SBA's rules for 7(a) loans, applied to an offer. */
export function SbaCard({
  worth,
  rules,
  name,
}: {
  worth: OfferValuation;
  rules: OfferAssessment['sba_rules'];
  name: string;
}) {
  if (!worth.sba) return null;
  return (
    <Card
      flush
      title="SBA 7(a) loan rules"
      description={`${name}, based on what was entered. The lender decides; this is not advice.`}
    >
      <ul className="divide-y divide-line border-t border-line">
        {worth.sba.map(({ id, answer }) => {
          const rule = rules.find((one) => one.id === id);
          const look = looks[answer.result];
          return (
            <li key={id} className="grid gap-x-4 gap-y-1 px-4 py-3 sm:grid-cols-[6rem_minmax(0,1fr)] sm:px-5">
              <span>
                <Badge tone={look.tone}>{look.label}</Badge>
              </span>
              <div className="min-w-0">
                <p className="text-ink">
                  {answer.result === 'ask' ? answer.ask : answer.why}
                  {answer.result === 'not_met' && ` Not met by ${answer.by}.`}
                </p>
                <p className="mt-1 text-sm text-faint">
                  {rule?.rule}{' '}
                  <a
                    href={rule?.source}
                    target="_blank"
                    rel="noreferrer"
                    className="rounded-sm text-accent-ink underline underline-offset-3 hover:text-ink"
                  >
                    {rule?.citation}
                  </a>
                  , in effect since {rule && <DayText day={rule.effective} />}
                  {rule?.source_read === 'secondary' && '; not checked against the SBA’s own text'}
                </p>
              </div>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
