import { useQuery } from '@tanstack/react-query';
import { notificationChoicesQuery, useNotificationActions } from '../../../api/notifications.ts';
import type { NotificationChoices } from '../../../api/shapes.ts';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { Loaded, SkeletonCard } from '../../../components/states.tsx';
import { SettingsPage } from '../settings-page.tsx';
import { CalendarCard } from './calendar-card.tsx';
import { deliveries, dealDeliveries, optionsOf } from '../../../lib/states.ts';
import { wholeNumber } from '../../../lib/whole-number.ts';

const choices = optionsOf(deliveries);
const dealChoices = optionsOf({ as_chosen: 'As chosen above', ...dealDeliveries });

const hours = Array.from({ length: 24 }, (_, hour) => ({
  value: String(hour),
  label: new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' }).format(
    Date.UTC(2026, 0, 1, hour),
  ),
}));

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The time zones that the browser knows, and the chosen one. */
function zones(chosen: string): { value: string; label: string }[] {
  const known = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', ownZone(), chosen]);
  return [...known].toSorted().map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }));
}

function DailyMail({ settings }: { settings: NotificationChoices['settings'] }) {
  const { set } = useNotificationActions();
  const { time_zone, digest_hour } = settings ?? { time_zone: ownZone(), digest_hour: 8 };
  return (
    <Card
      title="Daily e-mail"
      description="One e-mail with everything since the last one. Nothing is sent on days when nothing happened."
    >
      <div className="grid max-w-lg gap-4 sm:grid-cols-[minmax(0,1fr)_9rem]">
        <Field label="Time zone">
          <Select
            value={time_zone}
            options={zones(time_zone)}
            onChange={(zone) => set.mutate({ time_zone: zone, digest_hour })}
          />
        </Field>
        <Field label="At">
          <Select
            value={String(digest_hour)}
            options={hours}
            onChange={(hour) => set.mutate({ time_zone, digest_hour: wholeNumber(hour) })}
          />
        </Field>
      </div>
    </Card>
  );
}

function Kinds({ title, kinds }: { title: string; kinds: NotificationChoices['kinds'] }) {
  const { choose } = useNotificationActions();
  return (
    <Card title={title} flush>
      <ul className="divide-y divide-line border-t border-line">
        {kinds.map(({ kind, title: name, delivery, security }) => (
          <li key={kind} className="px-4 py-2.5 sm:px-5">
            <Field label={name} className="sm:grid sm:grid-cols-[minmax(0,1fr)_12rem] sm:items-center sm:gap-4">
              <Select
                value={delivery}
                options={security ? choices.filter(({ value }) => value !== 'off') : choices}
                onChange={(chosen) => choose.mutate({ kind, delivery: chosen })}
              />
            </Field>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Deals({ deals }: Pick<NotificationChoices, 'deals'>) {
  const { chooseDeal } = useNotificationActions();
  return (
    <Card
      title="Deals with fewer notifications"
      description="Deals for which you chose fewer notifications on their overview. They never send more than this, whatever you chose above."
      flush
    >
      <ul className="divide-y divide-line border-t border-line">
        {deals.map(({ deal_id: dealId, deal_title, delivery }) => (
          <li key={dealId} className="px-4 py-2.5 sm:px-5">
            <Field label={deal_title} className="sm:grid sm:grid-cols-[minmax(0,1fr)_12rem] sm:items-center sm:gap-4">
              <Select
                value={delivery}
                options={dealChoices}
                onChange={(chosen) => chooseDeal.mutate({ dealId, delivery: chosen === 'as_chosen' ? null : chosen })}
              />
            </Field>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/**
 * The settings page “Notifications”: how each kind is delivered, when the daily mail is sent, and which deals send
 * less.
 */
export default function NotificationSettings() {
  const query = useQuery(notificationChoicesQuery);
  return (
    <SettingsPage
      title="Notifications"
      description="You are notified of what concerns you on your deals, and only of what you can open."
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={8} />}>
        {({ kinds, deals, settings }) => (
          <>
            <DailyMail settings={settings} />
            <Kinds title="On your deals" kinds={kinds.filter(({ security }) => !security)} />
            <Kinds title="The security of your account" kinds={kinds.filter(({ security }) => security)} />
            {deals.length > 0 && <Deals deals={deals} />}
            <CalendarCard />
          </>
        )}
      </Loaded>
    </SettingsPage>
  );
}
