/** Runs as a process of its own: writes the reports that it is sent as the files that are asked for, one after the other, until it is ended. */

import { existsSync } from 'node:fs';
import { createRequire, flushCompileCache } from 'node:module';
import path from 'node:path';
import { reportContents, type ReportInput } from '../../../domain/reports/contents.ts';
import { titleOf } from '../../../domain/reports/words.ts';
import { endWithParent } from '../../../http/end-with-parent.ts';

export type ReportFormat = 'pdf' | 'xlsx';

/** What was read for a report: all that is computed of it is computed here, as it takes long. */
export interface ReportTask {
  readonly format: ReportFormat;
  readonly input: ReportInput;
}

/** The file's bytes and name. */
export interface Written {
  readonly bytes: Uint8Array;
  readonly title: string;
  readonly day: string;
}

/** What it answers: the file, or what went wrong. */
export type WrittenReport = Written | { readonly fault: string };

/** Beside the compiled module, or where the packages are. */
function fontFile(folder: string, name: string): string {
  const compiledIn = path.join(import.meta.dirname, 'fonts', name);
  return existsSync(compiledIn)
    ? compiledIn
    : createRequire(import.meta.url).resolve(`@expo-google-fonts/inter/${folder}/${name}`);
}

async function written({ format, input }: ReportTask): Promise<Written> {
  const contents = reportContents(input);
  const about = { title: titleOf(contents), day: contents.day };
  if (format === 'pdf') {
    const { reportDocument } = await import('../../../domain/reports/document.ts');
    const bytes = await reportDocument(contents, {
      regular: fontFile('400Regular', 'Inter_400Regular.ttf'),
      bold: fontFile('600SemiBold', 'Inter_600SemiBold.ttf'),
    });
    return { bytes, ...about };
  }
  const { writeXlsx } = await import('../../../domain/reports/xlsx.ts');
  const { paperOf, reportSheets } = await import('../../../domain/reports/workbook.ts');
  const footer = [contents.deal.brokerage, contents.day] as const;
  return { bytes: await writeXlsx(reportSheets(contents), paperOf(contents), footer), ...about };
}

/** Which error, and where: our functions and libraries. Its message may hold what they were given, and is left out. */
function whereThrown({ name, message, stack = '' }: Error): string {
  // The stack holds the message as it was when it was thrown, which may be another one, and of several lines.
  const thrown = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : stack;
  return [name, ...thrown.split('\n').filter((line) => line.startsWith('    at '))].join('\n');
}

endWithParent();
process.on('message', async (task: ReportTask) => {
  const answer: WrittenReport = await written(task).catch((error: unknown) => ({
    fault: error instanceof Error ? whereThrown(error) : 'thrown',
  }));
  // What went wrong may go wrong again: the next is written by another process.
  process.send?.(answer, () => 'fault' in answer && process.exit(1));
  // It may be ended at any time, before it would keep what was compiled.
  flushCompileCache();
});
