/** Which kinds of files the data room takes, by the ending of their name and by what is in them. */

import { fileTypeFromBuffer } from 'file-type';
import { looksLikePage, readText } from './text.ts';
import { zipNames } from './zip-names.ts';

/** How many bytes of the beginning are enough to see what a file is. */
export const headBytes = 262_144;

/** The file is not taken; `message` says why and what to do. */
export class NotTaken extends Error {
  override readonly name = 'NotTaken';
}

interface Kind {
  /** What the document is kept and served as. */
  readonly media: string;
  /** What the content may be recognized as. Text is recognized by having nothing else in it. */
  readonly content: 'text' | readonly string[];
  /** A folder that an archive of this kind has, where it is not recognized by its beginning. */
  readonly folder?: string;
}

const office = 'application/vnd.openxmlformats-officedocument';
const open = 'application/vnd.oasis.opendocument';
const compound = ['application/x-cfb'];
const text = (media = 'text/plain'): Kind => ({ media, content: 'text' });
const binary = (media: string, ...others: readonly string[]): Kind => ({ media, content: [media, ...others] });

/** By ending; an ending is what a person called their file, so what objects inherit must not be found. */
const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries({
    pdf: binary('application/pdf'),
    docx: { ...binary(`${office}.wordprocessingml.document`), folder: 'word/' },
    xlsx: { ...binary(`${office}.spreadsheetml.sheet`), folder: 'xl/' },
    pptx: { ...binary(`${office}.presentationml.presentation`), folder: 'ppt/' },
    doc: { media: 'application/msword', content: compound },
    xls: { media: 'application/vnd.ms-excel', content: compound },
    ppt: { media: 'application/vnd.ms-powerpoint', content: compound },
    msg: { media: 'application/vnd.ms-outlook', content: compound },
    odt: binary(`${open}.text`),
    ods: binary(`${open}.spreadsheet`),
    odp: binary(`${open}.presentation`),
    rtf: binary('application/rtf'),
    txt: text(),
    md: text(),
    json: text(),
    csv: text('text/csv'),
    tsv: text('text/tab-separated-values'),
    eml: text('message/rfc822'),
    ics: text('text/calendar'),
    vcf: text('text/vcard'),
    png: binary('image/png', 'image/apng'),
    jpg: binary('image/jpeg'),
    jpeg: binary('image/jpeg'),
    gif: binary('image/gif'),
    webp: binary('image/webp'),
    avif: binary('image/avif'),
    bmp: binary('image/bmp'),
    tif: binary('image/tiff'),
    tiff: binary('image/tiff'),
    heic: binary('image/heic', 'image/heif', 'image/heic-sequence'),
    mp4: binary('video/mp4'),
    mov: binary('video/quicktime'),
    webm: binary('video/webm'),
    mp3: binary('audio/mpeg'),
    m4a: binary('audio/x-m4a', 'audio/mp4', 'video/mp4'),
    wav: binary('audio/wav'),
    zip: binary('application/zip'),
  }),
);

const allowed = 'PDF, Office and OpenDocument files, images, text, CSV, mails, audio, video and ZIP archives';

/** What people call what a content was recognized as, where that is not plain from its media type. */
const knownAs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'application/x-msdownload': 'a program',
    'application/x-elf': 'a program',
    'application/x-mach-binary': 'a program',
    'application/java-archive': 'a program',
    'application/vnd.android.package-archive': 'a program',
    'application/zip': 'a ZIP archive',
    'application/pdf': 'a PDF',
    'application/x-cfb': 'an older Office file',
  }),
);

/** What stands after the last dot of a name, in lower case; '' without one. */
export const endingOf = (filename: string): string => /\.([^.]+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';

const whatItIs = (media: string | undefined): string =>
  media === undefined ? 'something else' : (knownAs.get(media) ?? `something else (${media})`);

function checkText(head: Uint8Array, whole: boolean, ending: string): void {
  const read = readText(head, whole);
  if (read === null)
    throw new NotTaken(
      `This file ends in .${ending} but does not contain text. Export it again, or change the ending of its name.`,
    );
  if (looksLikePage(read))
    throw new NotTaken('This file contains a web page or a program. Print it to PDF and upload that instead.');
}

/**
 * The media type as which a file is kept. `head` is its beginning, up to {@link headBytes}; `whole` says whether that is
 * all of it. Throws {@link NotTaken} for what the data room does not take, and when name and content disagree.
 */
export async function kindOf(filename: string, head: Uint8Array, whole: boolean): Promise<string> {
  const ending = endingOf(filename);
  const kind = kinds.get(ending);
  if (ending === 'svg')
    throw new NotTaken('Drawings that end in .svg can contain programs and are not accepted. Export it as PDF or PNG.');
  if (!kind) {
    throw new NotTaken(
      ending === ''
        ? `The name needs an ending that says what the file is, such as .pdf. Accepted are ${allowed}.`
        : `Files that end in .${ending} are not accepted. Accepted are ${allowed}.`,
    );
  }
  if (head.byteLength === 0) throw new NotTaken('The file is empty.');
  if (kind.content === 'text') checkText(head, whole, ending);
  else {
    const found = (await fileTypeFromBuffer(head))?.mime;
    if (found?.includes('macroenabled'))
      throw new NotTaken('This file contains macros. Save it without them, or as PDF.');
    const names = found === 'application/zip' || kind.folder ? [...zipNames(head)] : [];
    if (names.some((name) => /(^|\/)vbaProject\.bin$/i.test(name)))
      throw new NotTaken('This file contains macros. Save it without them, or as PDF.');
    // Some programs write what an archive is at its end, past the beginning that we have.
    const byFolder = found === 'application/zip' && names.some((name) => kind.folder && name.startsWith(kind.folder));
    if (!byFolder && !kind.content.includes(found ?? ''))
      throw new NotTaken(
        `This file ends in .${ending} but contains ${whatItIs(found)}. Change the ending of its name, or export it again.`,
      );
  }
  return kind.media;
}
