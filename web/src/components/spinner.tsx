/** A spinning ring for work in progress; the component that shows it says in words what is in progress. */
export function Spinner() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden className="size-4 animate-spin">
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" strokeWidth="2" opacity="0.25" />
      <path d="M14.5 8A6.5 6.5 0 0 0 8 1.5" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}
