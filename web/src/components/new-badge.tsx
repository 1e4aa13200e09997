import { Badge } from './badge.tsx';

/** Marks items added since the person's last visit. */
export function NewBadge({ className }: { className?: string }) {
  return (
    <Badge tone="accent" {...(className && { className })}>
      New<span className="sr-only"> since your last visit</span>
    </Badge>
  );
}
