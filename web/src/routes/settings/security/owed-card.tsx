import { useMe } from '../../../api/me.ts';
import type { Id } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useLeaveBrokerage } from '../members/use-leave.ts';

function OwedBrokerage({ id, name }: { id: Id; name: string }) {
  const leave = useLeaveBrokerage(id);
  return (
    <li className="flex items-center gap-3.5 px-4 py-3 sm:px-5">
      <p className="min-w-0 flex-1 break-words font-medium">{name}</p>
      <Button size="sm" onClick={() => leave(name)}>
        Leave<span className="sr-only"> {name}</span>
      </Button>
    </li>
  );
}

/** The brokerages that are closed to the person until they use a second factor, with a way to leave each. */
export function OwedCard() {
  const { second_factor_owed: owed } = useMe();
  if (owed.length === 0) return null;
  return (
    <Card
      flush
      title="Closed to you without a second factor"
      description="Until you use one, your assistants are turned away as well. If you no longer work there, you can leave."
    >
      <ul className="divide-y divide-line border-t border-line">
        {owed.map(({ brokerage_id, brokerage_name }) => (
          <OwedBrokerage key={brokerage_id} id={brokerage_id} name={brokerage_name} />
        ))}
      </ul>
    </Card>
  );
}
