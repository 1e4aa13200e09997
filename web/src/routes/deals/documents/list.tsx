import { useLayoutEffect, useRef, useState } from 'react';
import type { DealDocument } from '../../../api/shapes.ts';
import { cx } from '../../../lib/cx.ts';
import { useBreakpoint } from '../../../lib/use-media.ts';
import { useRows } from '../../../lib/use-rows.ts';
import { DocumentRow, type DocumentAction } from './row.tsx';

interface DocumentListProps {
  documents: readonly DealDocument[];
  onAction: (action: DocumentAction, document: DealDocument) => void;
}

/** A list of documents of any length: only the rows near the viewport are rendered. */
export function DocumentList({ documents, onAction }: DocumentListProps) {
  const list = useRef<HTMLUListElement>(null);
  const [offset, setOffset] = useState(0);
  const width = useBreakpoint();
  // Content above the list, such as the state of uploads, comes and goes: the offset is measured after each render, and
  // set only when it has changed.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useLayoutEffect(() => {
    const top = Math.round((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    if (top !== offset) setOffset(top);
  });
  const virtual = useRows('Documents', {
    count: documents.length,
    // Close to the height of most rows, so that going back finds the place where the person was.
    estimateSize: () => (width === null ? 131 : 68),
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => documents[index]!.id,
  });
  return (
    <ul ref={list} aria-label="Documents" style={{ height: virtual.getTotalSize() }} className="relative">
      {virtual.getVirtualItems().map(({ key, index, start }) => (
        <li
          key={key}
          data-index={index}
          ref={virtual.measureElement}
          aria-setsize={documents.length}
          aria-posinset={index + 1}
          style={{ transform: `translateY(${start - offset}px)` }}
          className={cx('absolute inset-x-0 top-0', index < documents.length - 1 && 'border-b border-line')}
        >
          <DocumentRow document={documents[index]!} onAction={onAction} />
        </li>
      ))}
    </ul>
  );
}
