/** The kinds of files that the data room accepts, by the extension and the content. */

import { fileTypeFromBuffer } from 'file-type';
import { looksLikePage, readText } from './text.ts';
import { zipNames } from './zip-names.ts';

/** How many bytes at the beginning are enough to recognize a file's kind. */
export const headBytes = 262_144;

/** The file is not accepted; `message` says why and what to do. */
export class NotTaken extends Error {
  override readonly name = 'NotTaken';
}

interface Kind {
  /** The media type with which the document is kept and served. */
  readonly media: string;
  /** The media types as which the content may be recognized; text is recognized by containing nothing else. */
  readonly content: 'text' | readonly string[];
  /** A folder in archives of this kind, for those that are not recognized by their beginning. */
  readonly folder?: string;
}

const office = 'application/vnd.openxmlformats-officedocument';
const open = 'application/vnd.oasis.opendocument';
const compound = ['application/x-cfb'];
const text = (media = 'text/plain'): Kind => ({ media, content: 'text' });
const binary = (media: string, ...others: readonly string[]): Kind => ({ media, content: [media, ...others] });

/** By extension. A Map, because the extension is user input and must not find inherited properties. */
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

/** Common names of recognized content, when its media type is not self-explanatory. */
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

/** Names of what keeps macros in archives: of Office, and of OpenDocument, whose lists of libraries may be empty. */
const officeMacros = /(^|\/)vbaProject\.bin$/i;
const openMacros = /^(Basic|Scripts)\/[^/]+\/(?!(script|dialog)-lb\.xml$)./i;
/** The same in the directory of an older Office file, which may lie behind the bytes in `head`. */
const compoundMacros = Buffer.from('_VBA_PROJECT', 'utf16le');

/** Whether a file of this kind has macros, as far as its beginning shows; `names` are those of its parts. */
function hasMacros({ media, content }: Kind, head: Uint8Array, names: readonly string[]): boolean {
  if (names.some((name) => officeMacros.test(name))) return true;
  if (media.startsWith(open)) return names.some((name) => openMacros.test(name));
  // A mail only carries what is attached to it.
  if (content !== compound || media === 'application/vnd.ms-outlook') return false;
  return Buffer.from(head.buffer, head.byteOffset, head.byteLength).includes(compoundMacros);
}

/** Returns the part of a name after the last dot, in lower case; '' without one. */
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
 * Returns the media type with which a file is kept. `head` is its beginning, up to {@link headBytes}; `whole` says
 * whether that is all of it. Throws {@link NotTaken} when the data room does not accept the file, and when its name and
 * content disagree.
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
    const isArchive = found === 'application/zip' || kind.folder !== undefined || kind.media.startsWith(open);
    const names = isArchive ? [...zipNames(head)] : [];
    if (found?.includes('macroenabled') || hasMacros(kind, head, names))
      throw new NotTaken('This file contains macros. Save it without them, or as PDF.');
    // Some programs write an archive's type at its end, after the bytes in `head`.
    const byFolder = found === 'application/zip' && names.some((name) => kind.folder && name.startsWith(kind.folder));
    if (!byFolder && !kind.content.includes(found ?? ''))
      throw new NotTaken(
        `This file ends in .${ending} but contains ${whatItIs(found)}. Change the ending of its name, or export it again.`,
      );
  }
  return kind.media;
}
