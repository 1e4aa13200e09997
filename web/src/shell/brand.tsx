/** The logo and the name. */
export function Brand() {
  return (
    <span className="inline-flex items-center gap-2.5">
      <svg viewBox="0 0 32 32" className="size-7 shrink-0" aria-hidden>
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <path
          d="M10 8h5.5a8 8 0 0 1 0 16H10V8Z"
          fill="none"
          strokeWidth="2.6"
          strokeLinejoin="round"
          className="stroke-on-accent"
        />
        <circle cx="15" cy="16" r="2.1" className="fill-on-accent" />
      </svg>
      <span className="font-serif text-lg tight:hidden font-semibold tracking-tight text-ink">Dealkeep</span>
    </span>
  );
}
