/** Runs as a process of its own: writes reports as files, one after another, until it is ended. */

import { existsSync } from 'node:fs';
import { createRequire, flushCompileCache } from 'node:module';
import path from 'node:path';
import { reportContents, type ReportInput } from '../../../domain/reports/contents.ts';
import { titleOf } from '../../../domain/reports/words.ts';
import { endWithParent } from '../../../http/end-with-parent.ts';

export type ReportFormat = 'pdf' | 'xlsx';

/** The data read for a report; all computation happens in this process because it takes long. */
export interface ReportTask {
  readonly format: ReportFormat;
  readonly input: ReportInput;
}

/** The bytes and the parts of the name of a file. */
export interface Written {
  readonly bytes: Uint8Array;
  readonly title: string;
  readonly day: string;
}

/** The answer: the file, or an error. */
export type WrittenReport = Written | { readonly fault: string };

/** The path of a font: beside the compiled module, or in the packages. */
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
  return {
    bytes: await writeXlsx(reportSheets(contents), contents.computed.currency, paperOf(contents), footer),
    ...about,
  };
}

/** The name of an error and its stack of functions. The message is left out because it may contain data of the deal. */
function whereThrown({ name, message, stack = '' }: Error): string {
  // The stack contains the message at the time of the throw, which may be a different one, and have several lines.
  const thrown = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : stack;
  return [name, ...thrown.split('\n').filter((line) => line.startsWith('    at '))].join('\n');
}

endWithParent();
process.on('message', async (task: ReportTask) => {
  const answer: WrittenReport = await written(task).catch((error: unknown) => ({
    fault: error instanceof Error ? whereThrown(error) : 'thrown',
  }));
  // An error may recur in this process, so the next report is written by a new one.
  process.send?.(answer, () => 'fault' in answer && process.exit(1));
  // The process may be ended at any time, before it would write the compile cache.
  flushCompileCache();
});
