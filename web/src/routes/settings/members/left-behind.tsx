import { Link } from '@tanstack/react-router';
import type { DealsOfMember } from '../../../api/shapes.ts';
import { formatCount, plural } from '../../../lib/format.ts';

/** How many invitations end with a member who leaves or is no longer an admin; renders nothing when there are none. */
export function Withdrawn({ count, isSelf = false }: { count: number; isSelf?: boolean }) {
  if (count === 0) return null;
  return (
    <p className="text-soft">
      {plural(count, 'invitation')} that {isSelf ? 'you' : 'they'} sent and nobody has accepted{' '}
      {count === 1 ? 'is' : 'are'} withdrawn. {count === 1 ? 'It' : 'They'} can be sent again.
    </p>
  );
}

/** The brokers from elsewhere on a member's deals, who stay when the member leaves; renders nothing when there are none. */
export function Outsiders({ left }: { left: Pick<DealsOfMember, 'outsiders' | 'outsider_count'> }) {
  const { outsiders, outsider_count: count } = left;
  if (count === 0) return null;
  const more = count - outsiders.length;
  return (
    <div>
      <p className="font-medium">
        {count === 1 ? 'This broker is' : 'These brokers are'} not in the brokerage, and can go on running the deal:
      </p>
      <ul className="mt-1.5 list-disc pl-5 text-soft">
        {outsiders.map(({ deal_id, title, name, email }) => (
          <li key={`${deal_id} ${email}`} className="break-words">
            {name} ({email}), on{' '}
            <Link
              to="/deals/$dealId/people"
              params={{ dealId: deal_id }}
              className="text-accent-ink underline underline-offset-3 hover:text-ink"
            >
              {title}
            </Link>
          </li>
        ))}
        {more > 0 && <li>and {formatCount(more)} more</li>}
      </ul>
      <p className="mt-1.5 text-soft">Remove them on the deal under People, if they should not.</p>
    </div>
  );
}
