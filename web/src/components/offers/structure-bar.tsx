import type { OfferPayload } from '../../api/shapes.ts';
import { cx } from '../../lib/cx.ts';
import { toPixels } from '../../lib/pixels.ts';
import { formatMoney } from '../../lib/format.ts';
import { parts } from './payload.ts';

/** The colour of each part, in the order of {@link parts}. */
export const shades = ['bg-accent', 'bg-info', 'bg-brass', 'bg-rare'];

/** The parts of an offer's price as a bar; the amounts beside the bar say the same in figures. */
export function StructureBar({ payload, className }: { payload: OfferPayload; className?: string }) {
  const named = parts
    .map(({ key, label }, place) => ({ key, label, amount: payload[key], shade: shades[place] }))
    .filter(({ amount }) => toPixels(amount) > 0);
  const total = named.reduce((all, { amount }) => all + toPixels(amount), 0);
  if (total === 0) return <span className="text-faint">–</span>;
  return (
    <span
      aria-hidden
      className={cx('flex h-2 w-full min-w-24 gap-px overflow-hidden rounded-full bg-sunken', className)}
    >
      {named.map(({ key, label, amount, shade }) => (
        <span
          key={key}
          title={`${label}: ${formatMoney(amount ?? '0', payload.currency)}`}
          className={shade}
          style={{ width: `${(100 * toPixels(amount)) / total}%` }}
        />
      ))}
    </span>
  );
}
