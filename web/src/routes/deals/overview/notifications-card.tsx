import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { dealNotificationsQuery, useNotificationActions } from '../../../api/notifications.ts';
import type { Id } from '../../../api/shapes.ts';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { dealDeliveries, optionsOf } from '../../../lib/states.ts';

const choices = optionsOf({ as_chosen: 'Use my settings', ...dealDeliveries });

/** How the person is notified of this deal. */
export function NotificationsCard({ dealId }: { dealId: Id }) {
  const { data } = useQuery(dealNotificationsQuery(dealId));
  const { chooseDeal } = useNotificationActions();
  return (
    <Card title="Notifications">
      <Field
        label="What you are notified of on this deal"
        hint={
          <Link to="/settings/notifications" className="underline underline-offset-3">
            Choose for every kind
          </Link>
        }
      >
        <Select
          value={data?.delivery ?? 'as_chosen'}
          disabled={data === undefined}
          options={choices}
          onChange={(chosen) => chooseDeal.mutate({ dealId, delivery: chosen === 'as_chosen' ? null : chosen })}
        />
      </Field>
    </Card>
  );
}
