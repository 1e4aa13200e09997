import { useId } from 'react';
import type { AccountChoice, AccountLine, ExportAccount, ExportPreview } from '../../../api/shapes.ts';
import { leftOutWords } from '../../../components/import-dialog.tsx';
import { Select } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { ScrollRegion } from '../../../components/scroll-region.tsx';
import { compare } from '../../../lib/decimal.ts';
import { formatCount, formatMoney, plural } from '../../../lib/format.ts';
import { accountLines, optionsOf, plLines } from '../../../lib/states.ts';

const programs: Record<NonNullable<ExportPreview['program']>, string> = { quickbooks: 'QuickBooks', xero: 'Xero' };

const amount = (value: string): string => formatMoney(value, null);

/** At most this many differing periods are named for each line. */
const mostNamed = 6;

function Comparison({ comparison }: Pick<ExportPreview, 'comparison'>) {
  const id = useId();
  const differing = comparison.filter(({ periods }) => periods.length > 0);
  if (comparison.length === 0)
    return (
      <Notice tone="warn" title="The export has no totals of its own">
        Compare what will be saved with the books yourself.
      </Notice>
    );
  return (
    <section aria-labelledby={id}>
      <h3 id={id} className="mb-2 font-medium">
        Compared with the export’s own totals
      </h3>
      <ScrollRegion label="Totals of all periods" className="rounded-lg border border-line">
        <table className="w-full text-sm">
          <thead className="bg-sunken text-faint">
            <tr>
              <th scope="col" className="px-3 py-2 text-left font-medium">
                All periods
              </th>
              {['Export', 'Counted', 'Differs by'].map((name) => (
                <th key={name} scope="col" className="px-2 py-2 text-right font-medium sm:px-3">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {comparison.map(({ line, reported, counted, difference, periods }) => (
              <tr key={line}>
                <th scope="row" className="px-3 py-1.5 text-left font-normal">
                  {plLines[line]}
                </th>
                <td className="px-2 py-1.5 text-right whitespace-nowrap tabular sm:px-3">{amount(reported)}</td>
                <td className="px-2 py-1.5 text-right whitespace-nowrap tabular sm:px-3">{amount(counted)}</td>
                <td
                  className={`px-2 py-1.5 text-right whitespace-nowrap tabular sm:px-3 ${periods.length > 0 ? 'text-bad' : 'text-good'}`}
                >
                  {periods.length > 0 ? amount(difference) : 'None'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {differing.map(({ line, periods }) => (
        <p key={line} className="mt-2 text-sm text-soft">
          {plLines[line]} differs in{' '}
          {periods
            .slice(0, mostNamed)
            .map(({ heading, difference }) => `${heading} (${amount(difference)})`)
            .join(', ')}
          {periods.length > mostNamed && ` and ${plural(periods.length - mostNamed, 'more period')}`}.
        </p>
      ))}
    </section>
  );
}

const nothing = { value: '', label: 'Nothing: leave it out' } as const;
const options = [...optionsOf(accountLines), nothing];

/** An income account lowers the expense line that it counts to, and an expense account lowers revenue. */
function remark({ is_income, by }: ExportAccount, line: AccountLine | null): string | null {
  if (line !== null && (line === 'revenue') !== is_income) return 'Lowers this line';
  return by === 'memory' ? 'As in the last upload' : null;
}

interface AccountProps {
  account: ExportAccount;
  line: AccountLine | null;
  onChange: (line: AccountLine | null) => void;
}

function Account({ account, line, onChange }: AccountProps) {
  const { name, row, amount: total } = account;
  const id = useId();
  const under = account.account.slice(0, -name.length).replace(/ \/ $/, '');
  const said = remark(account, line);
  return (
    <li className="grid items-center gap-x-3 gap-y-1.5 px-3.5 py-2.5 sm:grid-cols-[minmax(0,1fr)_8rem_14rem]">
      <div className="min-w-0">
        <label htmlFor={id} className="block break-words">
          {name}
        </label>
        <p className="text-sm break-words text-faint">
          Row {formatCount(row)}
          {under && ` · ${under}`}
        </p>
      </div>
      <span className={`tabular sm:text-right ${compare(total, '0') < 0 ? 'text-bad' : ''}`}>{amount(total)}</span>
      <div>
        <Select<AccountLine | ''>
          id={id}
          value={line ?? ''}
          options={options}
          onChange={(next) => onChange(next === '' ? null : next)}
          aria-describedby={said ? `${id}-said` : undefined}
        />
        {said && (
          <p id={`${id}-said`} className="mt-1 text-sm text-faint">
            {said}
          </p>
        )}
      </div>
    </li>
  );
}

interface ExportAccountsProps {
  seen: ExportPreview;
  /** The lines as chosen on the page, which `seen` may not reflect yet; null until the person changes one. */
  choice: readonly AccountChoice[] | null;
  onChange: (account: string, line: AccountLine | null) => void;
}

/** The accounts of a bookkeeping program's export: the line that each counts to, and whether the totals agree. */
export function ExportAccounts({ seen, choice, onChange }: ExportAccountsProps) {
  const id = useId();
  const { program, basis, accounts, comparison, doubts, doubt_count, left_out } = seen;
  const chosen = new Map((choice ?? accounts).map(({ account, line }) => [account, line]));
  const from = program === null ? 'An export' : `A ${programs[program]} export`;
  const facts = [
    basis && `${basis} basis`,
    `${plural(seen.period_count, 'period')} of ${plural(accounts.length, 'account')}`,
  ];
  return (
    <>
      <p className="text-soft">
        {from}: {facts.filter(Boolean).join(', ')}. Totals are not counted twice. {leftOutWords(left_out)}
      </p>
      <Comparison comparison={comparison} />
      {doubt_count > 0 && (
        <section aria-labelledby={`${id}-doubts`}>
          <h3 id={`${id}-doubts`} className="mb-2 font-medium">
            Totals in the file that do not add up
          </h3>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {doubts.map(({ row, column, message }) => (
              <li key={`${row} ${column}`} className="flex flex-wrap gap-x-3 px-3.5 py-2">
                <span className="text-faint tabular">
                  Row {formatCount(row)}, {column}
                </span>
                <span className="min-w-0 flex-1 basis-60">{message}</span>
              </li>
            ))}
          </ul>
          {doubt_count > doubts.length && (
            <p className="mt-2 text-sm text-faint">And {plural(doubt_count - doubts.length, 'more total')}.</p>
          )}
        </section>
      )}
      <section aria-labelledby={id}>
        <h3 id={id} className="font-medium">
          What each account counts as
        </h3>
        <p className="mt-0.5 mb-2 text-sm text-faint">Suggested again for the next upload on this deal.</p>
        <ul className="divide-y divide-line rounded-lg border border-line">
          {accounts.map((account) => (
            <Account
              key={account.row}
              account={account}
              line={chosen.get(account.account) ?? null}
              onChange={(line) => onChange(account.account, line)}
            />
          ))}
        </ul>
      </section>
    </>
  );
}
