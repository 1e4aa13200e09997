import { ChartNoAxesColumn, Table2 } from 'lucide-react';
import { useId, useState, type ReactNode } from 'react';
import { cx } from '../../lib/cx.ts';
import { Heading } from '../heading.tsx';

export interface ChartColumn {
  header: string;
  align?: 'end';
}

interface ChartFrameProps {
  title: string;
  description?: ReactNode;
  /** The meaning of each colour, a custom property such as "--chart-1"; `faint` is a lighter shade of the colour. */
  legend?: readonly { label: string; color: string; line?: boolean; faint?: boolean }[];
  /** The data of the chart as a table, for exact figures and for screen readers. */
  columns: readonly ChartColumn[];
  rows: readonly (readonly ReactNode[])[];
  actions?: ReactNode;
  /** Figures above the chart, shown both with the chart and with the table. */
  summary?: ReactNode;
  /** The height of the chart in pixels; the table has the same. */
  height: number;
  children: ReactNode;
}

/** A chart with its title and legend, and a button that shows its data as a table instead. */
export function ChartFrame(props: ChartFrameProps) {
  const { title, description, legend = [], columns, rows, actions, summary, height, children } = props;
  const [asTable, setAsTable] = useState(false);
  const titleId = useId();
  const Other = asTable ? ChartNoAxesColumn : Table2;
  return (
    <figure aria-labelledby={titleId} className="min-w-0">
      <figcaption className="mb-3 flex flex-col gap-1.5">
        <div className="flex flex-wrap items-start justify-between gap-x-3 gap-y-2">
          <div className="min-w-0 flex-1 basis-40 self-center">
            <Heading id={titleId} className="text-md font-semibold text-ink">
              {title}
            </Heading>
            {description && <p className="mt-0.5 text-sm text-faint">{description}</p>}
          </div>
          <div className="flex items-center gap-1.5">
            {actions}
            <button
              type="button"
              aria-label={`${asTable ? 'Chart' : 'Table'}: ${title}`}
              onClick={() => setAsTable(!asTable)}
              className="inline-flex items-center gap-1.5 rounded-md px-2 py-1 text-sm text-soft hover:bg-hover hover:text-ink coarse:min-h-11"
            >
              <Other className="size-4" aria-hidden />
              {asTable ? 'Chart' : 'Table'}
            </button>
          </div>
        </div>
        {legend.length > 0 && (
          <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm text-soft">
            {legend.map(({ label, color, line, faint }) => (
              <span key={label} className="inline-flex items-center gap-1.5">
                <span
                  aria-hidden
                  style={{ background: `var(${color})` }}
                  className={cx('inline-block w-3 rounded-sm', line ? 'h-0.75' : 'h-3', faint && 'opacity-25')}
                />
                {label}
              </span>
            ))}
          </p>
        )}
      </figcaption>
      {summary}
      <div
        style={{ height }}
        className={cx(asTable && 'overflow-auto rounded-lg border border-line')}
        // A scrollable element must be reachable by keyboard.
        {...(asTable && { role: 'region', 'aria-labelledby': titleId, tabIndex: 0 })}
      >
        {asTable ? (
          <table aria-labelledby={titleId} className="w-full border-collapse text-sm">
            <thead className="sticky top-0 bg-sunken text-faint">
              <tr>
                {columns.map((column) => (
                  <th
                    key={column.header}
                    scope="col"
                    className={cx('px-3 py-2 font-medium', column.align === 'end' ? 'text-right' : 'text-left')}
                  >
                    {column.header}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody className="divide-y divide-line">
              {rows.map((cells, row) => (
                <tr key={row}>
                  {cells.map((cell, index) => {
                    const column = columns[index];
                    const look = cx('px-3 py-1.5', column?.align === 'end' && 'text-right tabular');
                    return index === 0 ? (
                      <th key={column?.header} scope="row" className={cx('text-left font-normal', look)}>
                        {cell}
                      </th>
                    ) : (
                      <td key={column?.header} className={look}>
                        {cell}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        ) : (
          children
        )}
      </div>
    </figure>
  );
}
