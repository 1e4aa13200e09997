import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import { useOpenHere } from '../lib/use-open-here.ts';
import { usePortalContainer } from './portal-container.tsx';

/** The look of a menu. In a low window it scrolls. */
export const menuPanel =
  'appear-pop z-60 max-h-(--radix-dropdown-menu-content-available-height) min-w-52 overflow-y-auto rounded-lg border ' +
  'border-line bg-surface p-1.5 shadow-2';
const item =
  'flex w-full items-center gap-2.5 rounded-md px-2.5 py-1.5 text-base outline-none select-none ' +
  'data-[highlighted]:bg-hover data-[disabled]:opacity-50 coarse:min-h-11 [&>svg]:size-4 [&>svg]:shrink-0';

interface MenuProps {
  /** The button that opens the menu. */
  trigger: ReactNode;
  align?: 'start' | 'end';
  side?: 'top' | 'bottom';
  children: ReactNode;
}

/** A list of actions that opens from a button; contains MenuItem, MenuChoice and MenuSeparator. */
export function Menu({ trigger, align = 'end', side = 'bottom', children }: MenuProps) {
  const [open, setOpen] = useOpenHere();
  return (
    <Radix.Root modal={false} open={open} onOpenChange={setOpen}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal container={usePortalContainer()}>
        <Radix.Content align={align} side={side} sideOffset={6} collisionPadding={8} className={menuPanel}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface MenuItemProps {
  onSelect?: () => void;
  icon?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  /** Whether the child is a Link, which becomes the item. */
  asChild?: boolean;
  children: ReactNode;
}

/** One action of a menu. */
export function MenuItem({ onSelect, icon, danger, disabled, asChild, children }: MenuItemProps) {
  const look = cx(item, danger ? 'text-bad' : 'text-ink [&>svg]:text-faint');
  if (asChild) {
    return (
      <Radix.Item asChild className={look}>
        {children}
      </Radix.Item>
    );
  }
  return (
    <Radix.Item {...(onSelect && { onSelect })} disabled={disabled ?? false} className={look}>
      {icon}
      <span className="min-w-0 flex-1">{children}</span>
    </Radix.Item>
  );
}

interface MenuChoiceProps<V extends string> {
  label: string;
  value: V;
  onChange: (value: V) => void;
  options: readonly { value: V; label: string; icon?: ReactNode }[];
}

/** A group with exactly one chosen option. */
export function MenuChoice<V extends string>({ label, value, onChange, options }: MenuChoiceProps<V>) {
  return (
    <Radix.RadioGroup value={value} onValueChange={(next) => onChange(next as V)} aria-label={label}>
      <Radix.Label className="px-2.5 pt-2 pb-1 text-xs font-medium text-faint">{label}</Radix.Label>
      {options.map((option) => (
        <Radix.RadioItem key={option.value} value={option.value} className={cx(item, 'text-ink [&>svg]:text-faint')}>
          {option.icon}
          <span className="flex-1">{option.label}</span>
          <Radix.ItemIndicator>
            <span className="block size-1.5 rounded-full bg-accent" />
          </Radix.ItemIndicator>
        </Radix.RadioItem>
      ))}
    </Radix.RadioGroup>
  );
}

/** A line between groups of a menu. */
export function MenuSeparator() {
  return <Radix.Separator className="-mx-1.5 my-1.5 h-px bg-line" />;
}
