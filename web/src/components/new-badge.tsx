import { Badge } from './badge.tsx';

/** Marks what came since the person looked last. */
export function NewBadge({ className }: { className?: string }) {
  return (
    <Badge tone="accent" {...(className && { className })}>
      New<span className="sr-only"> since your last visit</span>
    </Badge>
  );
}
