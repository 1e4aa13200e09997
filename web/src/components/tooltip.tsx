import { Tooltip as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { usePortalContainer } from './portal-container.tsx';

export const TooltipProvider = Radix.Provider;

interface TooltipProps {
  text: ReactNode;
  /** One element that can be focused and takes a ref. */
  children: ReactNode;
}

/** Words that appear beside an element that is pointed at or focused. Never the only place where something is said. */
export function Tooltip({ text, children }: TooltipProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal container={usePortalContainer()}>
        <Radix.Content
          sideOffset={6}
          collisionPadding={8}
          className="appear-pop z-60 max-w-72 rounded-md bg-ink px-2.5 py-1.5 text-sm text-paper shadow-2"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
