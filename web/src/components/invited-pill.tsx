import type { Instant } from '../api/shapes.ts';
import { linkExpired, participantStates } from '../lib/states.ts';
import { useNow } from '../lib/use-now.ts';
import { StatePill } from './badge.tsx';
import { Time } from './time.tsx';

/** Says that somebody is invited and until when the link works, or that it has expired; `until` is null if that is not disclosed. */
export function InvitedPill({ until }: { until: Instant | null }) {
  const now = useNow('half-minute');
  if (until === null) return <StatePill look={participantStates.invited} />;
  if (new Date(until).getTime() <= now) return <StatePill look={linkExpired} />;
  return (
    <>
      <StatePill look={participantStates.invited} />
      <span className="text-sm text-faint">
        until <Time at={until} as="date" />
      </span>
    </>
  );
}
