import { Tooltip as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { usePortalContainer } from './portal-container.tsx';

export const TooltipProvider = Radix.Provider;

interface TooltipProps {
  text: ReactNode;
  /** One focusable element that takes a ref. */
  children: ReactNode;
}

/** Text beside an element while it is hovered or focused. Never the only place of information. */
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
