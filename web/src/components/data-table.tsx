import { Link, type LinkOptions } from '@tanstack/react-router';
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react';
import {
  memo,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import { cx } from '../lib/cx.ts';
import { reaches, useBreakpoint, type Breakpoint } from '../lib/use-media.ts';
import { pixelsOf } from '../lib/pixels.ts';
import { useRows } from '../lib/use-rows.ts';
import { Select } from './input.tsx';

export interface Column<Row> {
  id: string;
  header: string;
  /**
   * Renders the cell. Controls in it take their tabIndex from `reachable`, as the Tab key reaches only one row of a
   * long list.
   */
  cell: (row: Row, reachable: boolean) => ReactNode;
  /** A grid track: "minmax(14rem, 2fr)", "7rem". */
  width?: string;
  align?: 'end';
  /** The key by which the column sorts; makes the header a button. */
  sort?: string;
  /** The smallest breakpoint at which the column shows. */
  from?: Breakpoint;
  /** Shows the header to screen readers only, for instance for a column of buttons. */
  hideHeader?: boolean;
  /**
   * A control in place of the header, such as a checkbox for all rows; the row is opened by the cell after it. With
   * cards the control stands before their order, and its cell before each card.
   */
  control?: ReactNode;
}

/**
 * What a click on a row does, and how a row looks when columns do not fit. Keep the functions stable, so that rows are
 * not rendered again.
 */
interface RowBehaviour<Row> {
  /** The target of a row: its first cell becomes the link, which covers the whole row. */
  link?: (row: Row) => LinkOptions;
  /** Opens a row without a link, for instance in a drawer. */
  onOpen?: (row: Row) => void;
  /** Renders a row on a phone; without it the columns stay. */
  renderCard?: (row: Row) => ReactNode;
}

interface DataTableProps<Row> extends RowBehaviour<Row> {
  /** Names the table for screen readers. */
  label: string;
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  columns: readonly Column<Row>[];
  /** Whether there are more rows to fetch. */
  more?: boolean;
  /** The current order, with "-" in front for descending, and its setter. */
  sort?: string;
  onSort?: (sort: string) => void;
  /** The height of a row with columns, in rem; higher content is cut off. */
  rowHeight?: number;
}

interface HeaderProps<Row> extends Pick<DataTableProps<Row>, 'sort' | 'onSort'> {
  column: Column<Row>;
  /** Whether only screen readers read the header. */
  asCards: boolean;
}

function Header<Row>({ column, sort, onSort, asCards }: HeaderProps<Row>) {
  const { sort: by, header, align, control } = column;
  const sorted = by === undefined ? 'none' : sort === by ? 'ascending' : sort === `-${by}` ? 'descending' : 'none';
  const Arrow = { ascending: ArrowUp, descending: ArrowDown, none: ChevronsUpDown }[sorted];
  return (
    <div
      role="columnheader"
      {...(by && { 'aria-sort': sorted })}
      className={cx('flex min-w-0 items-center px-3 py-2 first:pl-4 last:pr-4', align === 'end' && 'justify-end')}
    >
      {by && onSort ? (
        <button
          type="button"
          onClick={() => onSort(sorted === 'ascending' ? `-${by}` : by)}
          className="-mx-1.5 inline-flex min-w-0 items-center gap-1 rounded-sm px-1.5 py-0.5 font-medium hover:text-ink coarse:relative coarse:after:absolute coarse:after:inset-x-0 coarse:after:-inset-y-2.5"
        >
          <span className="truncate">{header}</span>
          <Arrow className={cx('size-3.5 shrink-0', sorted === 'none' && 'opacity-60')} aria-hidden />
        </button>
      ) : (
        (!asCards && control) || <span className={cx('truncate', column.hideHeader && 'sr-only')}>{header}</span>
      )}
    </div>
  );
}

/** Makes a target of 44 pixels of a checkbox in it. */
const bigTarget = '[&>[role=checkbox]]:after:-inset-3.5';

interface SortSelectProps {
  columns: readonly Column<never>[];
  sort: string;
  onSort: (sort: string) => void;
}

/** Selects the order of cards, which have no header, beside the control of all of them. */
function SortSelect({ columns, sort, onSort }: SortSelectProps) {
  const control = columns.find((column) => column.control)?.control;
  const id = useId();
  const options = columns.flatMap(({ header, sort: by }) =>
    by === undefined
      ? []
      : [
          { value: by, label: `${header}, ascending` },
          { value: `-${by}`, label: `${header}, descending` },
        ],
  );
  return (
    <div className="flex items-center gap-3 border-b border-line p-3">
      {control && <div className={cx('mr-2 ml-1 shrink-0', bigTarget)}>{control}</div>}
      <label htmlFor={id} className="shrink-0 text-sm text-soft">
        Sort by
      </label>
      <div className="min-w-0 flex-1">
        <Select
          id={id}
          value={options.some(({ value }) => value === sort) ? sort : ''}
          placeholder="Other"
          onChange={onSort}
          options={options}
        />
      </div>
    </div>
  );
}

interface TableRowProps<Row> extends RowBehaviour<Row> {
  row: Row;
  index: number;
  /** The position in pixels from the top of the rows. */
  top: number;
  /** The height in pixels; null for the height of the content. */
  height: number | null;
  tracks: string;
  columns: readonly Column<Row>[];
  /** Whether this is the one row that the Tab key reaches. */
  reachable: boolean;
  measure?: (element: HTMLElement | null) => void;
  onReach: (index: number) => void;
  onMove: (index: number, key: string) => boolean;
}

function TableRowView<Row>(props: TableRowProps<Row>) {
  const { row, index, top, height, tracks, columns, reachable, link, onOpen, renderCard, measure, onReach, onMove } =
    props;
  const target = link?.(row);
  const opener = columns.findIndex((column) => column.control === undefined);
  const control = columns.find((column) => column.control);
  const linked = (content: ReactNode) =>
    target ? (
      <Link {...target} data-opens tabIndex={-1} className="block min-w-0 after:absolute after:inset-0">
        {content}
      </Link>
    ) : onOpen ? (
      // The click bubbles to the row, which opens.
      <button type="button" data-opens tabIndex={-1} className="block w-full min-w-0 text-left">
        {content}
      </button>
    ) : (
      content
    );
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const opens = event.currentTarget.querySelector<HTMLElement>('[data-opens]');
    // A click focuses the link or button that opens the row: arrow keys work from there, too.
    const isOnRow = event.target === event.currentTarget;
    if ((!isOnRow && event.target !== opens) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      if (!isOnRow) return;
      opens?.click();
    } else if (!onMove(index, event.key)) return;
    event.preventDefault();
  };
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      ref={measure}
      tabIndex={reachable ? 0 : -1}
      onFocus={() => onReach(index)}
      onKeyDown={onKeyDown}
      onClick={target || !onOpen ? undefined : () => onOpen(row)}
      style={{
        transform: `translateY(${top}px)`,
        ...(!renderCard && { gridTemplateColumns: tracks }),
        ...(height !== null && { height }),
      }}
      className={cx(
        'absolute inset-x-0 top-0 overflow-hidden border-b border-line -outline-offset-2 last:rounded-b-xl last:border-transparent',
        (target || onOpen) && 'cursor-pointer hover:bg-hover',
        renderCard ? 'flex' : 'grid items-center',
      )}
    >
      {renderCard ? (
        <>
          {control && (
            <div role="gridcell" className={cx('grid w-11 shrink-0 place-items-center pl-1', bigTarget)}>
              {control.cell(row, reachable)}
            </div>
          )}
          <div role="gridcell" className={cx('min-w-0 flex-1 px-4 py-3.5', control && 'pl-2')}>
            {linked(renderCard(row))}
          </div>
        </>
      ) : (
        columns.map((column, place) => (
          <div
            key={column.id}
            role="gridcell"
            className={cx('min-w-0 px-3 first:pl-4 last:pr-4', column.align === 'end' && 'text-right')}
          >
            {place === opener ? linked(column.cell(row, reachable)) : column.cell(row, reachable)}
          </div>
        ))
      )}
    </div>
  );
}

const TableRow = memo(TableRowView) as typeof TableRowView;

/**
 * A table of any length: only rows in view are rendered, and the page itself scrolls. Arrow keys, Home, End, Page Up
 * and Page Down move between rows, Enter opens a row.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, rowKey, columns, more, link, onOpen, renderCard, sort, onSort, rowHeight = 3.25 } = props;
  const width = useBreakpoint();
  const asCards = renderCard !== undefined && width === null;
  const shown = useMemo(() => columns.filter(({ from }) => !from || reaches(width, from)), [columns, width]);
  const tracks = shown.map((column) => column.width ?? 'minmax(0, 1fr)').join(' ');
  const height = rowHeight * pixelsOf(getComputedStyle(document.documentElement).fontSize);

  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const place = useCallback((element: HTMLDivElement | null) => {
    body.current = element;
    if (element) setOffset(element.getBoundingClientRect().top + window.scrollY);
  }, []);
  const virtual = useRows(label, {
    count: rows.length,
    estimateSize: () => (asCards ? 92 : height),
    overscan: 10,
    scrollMargin: offset,
    getItemKey: (index) => rowKey(rows[index]!),
  });

  const [active, setActive] = useState(0);
  const wanted = useRef<number | null>(null);
  useEffect(() => {
    if (wanted.current === null) return;
    const row = body.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"]`);
    if (!row) return;
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  const last = rows.length - 1;
  const onMove = useCallback(
    (index: number, key: string) => {
      const page = Math.max(1, Math.floor(window.innerHeight / height) - 3);
      const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
      const step = steps[key];
      if (step === undefined && key !== 'Home' && key !== 'End') return false;
      const target = key === 'Home' ? 0 : key === 'End' ? last : Math.max(0, Math.min(last, index + (step ?? 0)));
      wanted.current = target;
      setActive(target);
      virtual.scrollToIndex(target, { align: 'auto' });
      return true;
    },
    [height, last, virtual],
  );

  return (
    <>
      {asCards && sort !== undefined && onSort && <SortSelect columns={columns} sort={sort} onSort={onSort} />}
      <div role="grid" aria-label={label} aria-rowcount={more ? -1 : rows.length + 1} className="min-w-0">
        <div role="rowgroup" className={cx(asCards && 'sr-only')}>
          <div
            role="row"
            aria-rowindex={1}
            style={{ gridTemplateColumns: tracks }}
            className="grid border-b border-line text-sm font-medium text-faint"
          >
            {shown.map((column) => (
              <Header
                key={column.id}
                column={column}
                asCards={asCards}
                {...(sort && { sort })}
                {...(onSort && !asCards && { onSort })}
              />
            ))}
          </div>
        </div>
        <div role="rowgroup" ref={place} style={{ height: virtual.getTotalSize() }} className="relative">
          {virtual.getVirtualItems().map((item) => (
            <TableRow
              key={item.key}
              row={rows[item.index]!}
              index={item.index}
              top={item.start - offset}
              height={asCards ? null : height}
              tracks={tracks}
              columns={shown}
              reachable={item.index === Math.min(active, last)}
              onReach={setActive}
              onMove={onMove}
              {...(asCards && { renderCard, measure: virtual.measureElement })}
              {...(link && { link })}
              {...(onOpen && { onOpen })}
            />
          ))}
        </div>
      </div>
    </>
  );
}
