/** A line with "or" in it, between two ways to sign in. */
export function OrDivider() {
  return (
    <div className="my-4 flex items-center gap-3 text-sm text-faint">
      <span aria-hidden className="h-px flex-1 bg-line" />
      or
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  );
}
