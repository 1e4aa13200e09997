import type { ReactNode } from 'react';

interface ColumnsProps {
  main: ReactNode;
  /** Secondary content; below the main content if there is no room beside. */
  side: ReactNode;
}

/** A wide column and a narrow one. */
export function Columns({ main, side }: ColumnsProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem] xl:grid-cols-[minmax(0,1fr)_23rem]">
      <div className="flex min-w-0 flex-col gap-5">{main}</div>
      <div className="flex min-w-0 flex-col gap-5">{side}</div>
    </div>
  );
}
