/** The sheet of uploads and their uploaders. */

import { count, day, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { uploadWords } from '../words.ts';
import { below, titled } from './layout.ts';

/** Returns the sheet of uploads. */
export function uploadsSheet({ uploads }: ReportContents): ReportSheet {
  return {
    name: 'Uploads',
    widths: [8, 40, 34, 12, 26],
    rows: [
      ...titled('What was uploaded, and by whom', 'Completed uploads, latest first.', [
        head('Number'),
        head('Upload', false, { indent: true }),
        head('Covers', false),
        head('Completed', false),
        head('By', false),
      ]),
      ...uploads.map((one, place) => [
        count(place + 1),
        text(one.source_name ?? 'Without a name', { wrap: true, indent: true }),
        text(uploadWords[one.snapshot_type]),
        day(one.completed_at.slice(0, 10)),
        text(one.by ?? 'Someone', { wrap: true }),
      ]),
    ],
    frozen: below,
    landscape: false,
  };
}
