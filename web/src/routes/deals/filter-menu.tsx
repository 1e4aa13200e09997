import { Check } from 'lucide-react';
import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { cx } from '../../lib/cx.ts';
import { useOpenHere } from '../../lib/use-open-here.ts';
import { Count } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { menuPanel } from '../../components/menu.tsx';
import { usePortalContainer } from '../../components/portal-container.tsx';

interface FilterMenuProps<V extends string> {
  label: string;
  icon?: ReactNode;
  options: readonly { value: V; label: string }[];
  chosen: readonly V[];
  onChange: (chosen: V[]) => void;
}

/** A filter with several choices; the menu stays open while they are made. */
export function FilterMenu<V extends string>({ label, icon, options, chosen, onChange }: FilterMenuProps<V>) {
  const item =
    'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none select-none data-[highlighted]:bg-hover coarse:min-h-11';
  const [open, setOpen] = useOpenHere();
  return (
    <Radix.Root modal={false} open={open} onOpenChange={setOpen}>
      <Radix.Trigger asChild>
        <Button icon={icon}>
          <span className="inline-flex items-center gap-2">
            {label}
            <Count count={chosen.length} label="chosen" tone="accent" />
          </span>
        </Button>
      </Radix.Trigger>
      <Radix.Portal container={usePortalContainer()}>
        <Radix.Content align="start" sideOffset={6} collisionPadding={8} className={menuPanel}>
          {options.map(({ value, label: name }) => {
            const checked = chosen.includes(value);
            return (
              <Radix.CheckboxItem
                key={value}
                checked={checked}
                onSelect={(event) => event.preventDefault()}
                onCheckedChange={(next) => onChange(next ? [...chosen, value] : chosen.filter((one) => one !== value))}
                className={item}
              >
                <span
                  aria-hidden
                  className={cx(
                    'grid size-4 place-items-center rounded-sm border',
                    checked ? 'border-accent bg-accent text-on-accent' : 'border-edge',
                  )}
                >
                  {checked && <Check className="size-3" strokeWidth={3} />}
                </span>
                {name}
              </Radix.CheckboxItem>
            );
          })}
          {chosen.length > 0 && (
            <>
              <Radix.Separator className="-mx-1.5 my-1.5 h-px bg-line" />
              <Radix.Item className={cx(item, 'text-soft')} onSelect={() => onChange([])}>
                Clear
              </Radix.Item>
            </>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
