import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { DealsOfMember, Id } from '../../../api/shapes.ts';
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

/** A list, of which `more` entries are not shown. */
const Listed = ({ title, more, children }: { title: string; more: number; children: ReactNode }) => (
  <div>
    <p className="font-medium">{title}</p>
    <ul className="mt-1.5 list-disc pl-5 text-soft">
      {children}
      {more > 0 && <li>and {formatCount(more)} more</li>}
    </ul>
  </div>
);

/** The brokers from elsewhere on a member's deals, who stay when the member leaves; renders nothing when there are none. */
export function Outsiders({ left }: { left: Pick<DealsOfMember, 'outsiders' | 'outsider_count'> }) {
  const { outsiders, outsider_count: count } = left;
  if (count === 0) return null;
  return (
    <div>
      <Listed
        title={`${count === 1 ? 'This broker is' : 'These brokers are'} not in the brokerage, and can go on running the deal:`}
        more={count - outsiders.length}
      >
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
      </Listed>
      <p className="mt-1.5 text-soft">Remove them on the deal under People, if they should not.</p>
    </div>
  );
}

interface NamesProps {
  title: string;
  names: readonly { id: Id; name: string }[];
  more?: number;
}

/** A list of names; renders nothing when there are none. */
export function Names({ title, names, more = 0 }: NamesProps) {
  if (names.length === 0) return null;
  return (
    <Listed title={title} more={more}>
      {names.map(({ id, name }) => (
        <li key={id} className="break-words">
          {name}
        </li>
      ))}
    </Listed>
  );
}

interface IntegrationsProps {
  of: Pick<DealsOfMember, 'keys' | 'webhooks'>;
  /** Whether the member leaves; otherwise they are no longer an admin. */
  leaves: boolean;
}

/** What stops with a member: API keys that were last given to them, and webhooks. Renders nothing when there is none. */
export function Integrations({ of: { keys, webhooks }, leaves }: IntegrationsProps) {
  const stopped = keys.filter(({ kept }) => leaves || kept.length === 0);
  const limited = keys.filter(({ scopes, kept }) => !leaves && kept.length > 0 && kept.length < scopes.length);
  return (
    <>
      <Names title="API keys that stop working until an admin rotates them:" names={stopped} />
      <Names title="API keys that reach contacts only until an admin rotates them:" names={limited} />
      <Names
        title="Webhooks that are turned off until an admin turns them on again:"
        names={webhooks.map(({ id, description, url }) => ({ id, name: description ?? url }))}
      />
    </>
  );
}
