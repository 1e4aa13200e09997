import { useQuery } from '@tanstack/react-query';
import { auditPeopleQuery, mostMembers, type AuditFilter } from '../../../api/settings.ts';
import type { Day, Id } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { cutHint } from '../../../components/states.tsx';
import { DateField } from '../../../components/value-fields.tsx';
import { cx } from '../../../lib/cx.ts';
import { instantOf } from '../../../lib/local-time.ts';
import { auditSubjects, optionsOf } from '../../../lib/states.ts';

export interface Chosen {
  person: Id | 'anybody';
  /** The name of the chosen person, if a record was the source: sellers and buyers are no members. */
  name?: string;
  subject: keyof typeof auditSubjects;
  outcome: 'any' | 'done' | 'refused';
  first: Day | '';
  last: Day | '';
}

/** No filter. */
export const everything: Chosen = { person: 'anybody', subject: 'any', outcome: 'any', first: '', last: '' };
const outcomes = { any: 'Any', done: 'Done', refused: 'Refused' };

/** The filter for the server, of one deal where there is a `dealId`: days are whole days in the viewer's time zone. */
export function filterOf(chosen: Chosen, brokerageId: Id | null, dealId: Id | null): AuditFilter {
  // Null for a day that is not chosen, or in a year that no timestamp can have.
  const startOf = (day: Day | '', plus: number) => {
    const date = new Date(`${day}T00:00:00`);
    date.setDate(date.getDate() + plus);
    return instantOf(date);
  };
  const from = startOf(chosen.first, 0);
  const to = startOf(chosen.last, 1);
  return {
    ...(brokerageId !== null && { brokerage_id: brokerageId }),
    ...(dealId !== null && { deal_id: dealId }),
    ...(chosen.person !== 'anybody' && { user_id: chosen.person }),
    ...(chosen.subject !== 'any' && { action: chosen.subject }),
    ...(chosen.outcome !== 'any' && { outcome: chosen.outcome }),
    ...(from !== null && { from }),
    ...(to !== null && { to }),
  };
}

interface FiltersProps {
  chosen: Chosen;
  change: (part: Partial<Chosen>) => void;
  brokerageId: Id | null;
}

/** The filters: person, subject, outcome and days. */
export function Filters({ chosen, change, brokerageId }: FiltersProps) {
  const members = useQuery({ ...auditPeopleQuery(brokerageId ?? ''), enabled: brokerageId !== null }).data?.items ?? [];
  const people = members.map(({ user_id, name, is_member }) => ({
    value: user_id,
    label: is_member ? name : `${name} (former member)`,
  }));
  if (chosen.person !== 'anybody' && chosen.name !== undefined && people.every(({ value }) => value !== chosen.person))
    people.push({ value: chosen.person, label: chosen.name });
  return (
    <div
      className={cx(
        'grid grid-cols-2 gap-x-2.5 gap-y-3 p-3',
        brokerageId === null
          ? '@2xl:grid-cols-[1fr_1fr_8.75rem_8.75rem]'
          : '@2xl:grid-cols-[1fr_1fr_0.8fr_8.75rem_8.75rem]',
      )}
    >
      {brokerageId !== null && (
        <Field label="Person" hint={cutHint(members, mostMembers, 'members by name')}>
          <Select
            value={chosen.person}
            onChange={(person) => change({ person })}
            options={[{ value: 'anybody', label: 'Anyone' }, ...people]}
          />
        </Field>
      )}
      <Field label="About">
        <Select value={chosen.subject} onChange={(subject) => change({ subject })} options={optionsOf(auditSubjects)} />
      </Field>
      <Field label="Outcome" className={brokerageId === null ? '' : '@max-2xl:col-span-2'}>
        <Select value={chosen.outcome} onChange={(outcome) => change({ outcome })} options={optionsOf(outcomes)} />
      </Field>
      <Field label="From">
        <DateField
          value={chosen.first}
          {...(chosen.last !== '' && { max: chosen.last })}
          onChange={(first) => change({ first })}
        />
      </Field>
      <Field label="To">
        <DateField
          value={chosen.last}
          {...(chosen.first !== '' && { min: chosen.first })}
          onChange={(last) => change({ last })}
        />
      </Field>
    </div>
  );
}
