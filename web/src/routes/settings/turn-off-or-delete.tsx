import { Power, Trash2 } from 'lucide-react';
import { useConfirm } from '../../components/confirm-dialog.tsx';
import { MenuItem, MenuSeparator } from '../../components/menu.tsx';
import { toast, toastError } from '../../components/toast.tsx';

interface TurnOffOrDeleteProps {
  name: string;
  /** The kind of thing, for the label of the delete button: "client". */
  kind: string;
  isOff: boolean;
  /** The consequences of turning it off, and of deleting it. */
  whenOff: string;
  whenDeleted: string;
  turn: (on: boolean) => Promise<unknown>;
  remove: () => Promise<unknown>;
}

/** The last items of a setting's menu: turn on or off, and delete. */
export function TurnOffOrDelete({ name, kind, isOff, whenOff, whenDeleted, turn, remove }: TurnOffOrDeleteProps) {
  const confirm = useConfirm();
  const turnOn = () => void turn(true).then(() => toast(`${name} is turned on`), toastError);
  const turnOff = () =>
    confirm(
      { title: `Turn off ${name}?`, body: whenOff, action: 'Turn off', danger: true, done: `${name} is turned off` },
      () => turn(false),
    );
  const askToDelete = () =>
    confirm(
      {
        title: `Delete ${name}?`,
        body: `${whenDeleted} This cannot be undone.`,
        action: `Delete ${kind}`,
        danger: true,
        done: `${name} is deleted`,
      },
      remove,
    );
  return (
    <>
      <MenuItem icon={<Power />} onSelect={isOff ? turnOn : turnOff}>
        {isOff ? 'Turn on' : 'Turn off'}
      </MenuItem>
      <MenuSeparator />
      <MenuItem danger icon={<Trash2 />} onSelect={askToDelete}>
        Delete
      </MenuItem>
    </>
  );
}
