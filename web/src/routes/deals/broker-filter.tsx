import { useQuery } from '@tanstack/react-query';
import { useBrokerage } from '../../api/me.ts';
import { brokersAmong, membersQuery } from '../../api/settings.ts';
import { Select } from '../../components/input.tsx';

interface BrokerFilterProps {
  /** The id of a broker, or 'none'. */
  broker: string | undefined;
  onChange: (broker: string | undefined) => void;
}

/** The filter of the list of deals by who runs them, for those who run deals or administer a brokerage. */
export function BrokerFilter({ broker, onChange }: BrokerFilterProps) {
  const brokerage = useBrokerage();
  const runs = brokerage !== null && brokerage.role !== 'staff';
  const members = useQuery({ ...membersQuery(brokerage?.brokerage_id ?? ''), enabled: runs });
  if (!runs) return null;
  const options = [
    { value: 'any', label: 'All brokers' },
    ...(brokerage.role === 'admin' ? [{ value: 'none', label: 'No broker of the brokerage' }] : []),
    ...brokersAmong(members.data?.items ?? []).map(({ user_id, name }) => ({ value: user_id, label: name })),
  ];
  const isListed = broker === undefined || options.some(({ value }) => value === broker);
  return (
    <div className="flex-[0_1_11rem] max-sm:flex-1">
      <Select
        aria-label="Broker"
        value={broker ?? 'any'}
        onChange={(chosen) => onChange(chosen === 'any' ? undefined : chosen)}
        options={isListed ? options : [...options, { value: broker, label: 'Another broker' }]}
      />
    </div>
  );
}
