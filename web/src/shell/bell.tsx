import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bell as BellIcon } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { unreadQuery, useNotificationActions } from '../api/notifications.ts';

/**
 * Saves the browser's time zone on a person's first visit, until they choose one: their daily mail is sent by it. A zone
 * that the service does not know, newer than its own list or "Etc/Unknown", is not saved.
 */
export function useFirstZone(): void {
  const zone = useQuery(unreadQuery).data?.time_zone;
  const { setFirst } = useNotificationActions();
  const tried = useRef(false);
  useEffect(() => {
    if (zone !== null || tried.current) return;
    tried.current = true;
    setFirst.mutate({ time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, digest_hour: 8 });
  }, [zone, setFirst]);
}

/** A link to the person's notifications, with the number of new ones. */
export function Bell() {
  const { data } = useQuery(unreadQuery);
  const count = data?.count ?? 0;
  const shown = count >= 100 ? '99+' : String(count);
  return (
    <Link
      to="/notifications"
      aria-label={count > 0 ? `Notifications, ${shown} new` : 'Notifications'}
      className="relative grid size-9 shrink-0 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink coarse:size-11"
    >
      <BellIcon className="size-5" strokeWidth={1.9} aria-hidden />
      {count > 0 && (
        <span
          aria-hidden
          className="absolute top-0.5 right-0.5 min-w-4.5 rounded-full bg-accent px-1 text-center text-xs leading-4.5 font-semibold text-on-accent tabular"
        >
          {shown}
        </span>
      )}
    </Link>
  );
}
