import { brokerageLogo } from '../api/settings.ts';
import type { Id } from '../api/shapes.ts';

/**
 * The logo of a brokerage beside its name, on a light background in every theme, as in its mails; nothing without a
 * logo.
 */
export function BrokerageLogo({ brokerageId, at }: { brokerageId: Id; at: string | null }) {
  if (at === null) return null;
  return (
    <span className="inline-flex self-start rounded-md border border-line bg-[#ffffff] p-2">
      <img src={brokerageLogo(brokerageId, at)} alt="" className="max-h-12 max-w-48 object-contain" />
    </span>
  );
}
