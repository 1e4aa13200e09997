/**
 * Pages that are filled from top to bottom with headings, sentences, facts, and tables that continue over several pages
 * under repeated column headings.
 */

import Document from 'pdfkit';
import type { Paper as PaperSize } from './xlsx.ts';

/** The files of the type family's two weights. */
export interface Fonts {
  readonly regular: string;
  readonly bold: string;
}

const ink = { text: '#1f2328', soft: '#4d545c', faint: '#6b7178', line: '#d5d8dc', band: '#f4f5f6' };
const margin = { side: 48, top: 52, bottom: 64 };
/**
 * Text set in tabular figures, so that amounts align. Text with hyphens is not: the feature makes hyphens as wide as
 * digits, too.
 */
const figures = /^[\d.,+−%×()]+$/;
/** Contextual alternates are off: they take long to shape. */
const featuresOf = (text: string) => ({ calt: false, tnum: figures.test(text) });

/** A table begins on a page only if at least this many rows fit. */
const fewest = 3;

/** At most this fraction of a page is left empty to move a table that would be split to the next page. */
const mostEmpty = 0.3;

/** At most this many characters of a text are printed, and at most this fraction of a page's height for one row. */
const longest = { characters: 2_400, row: 0.6 };

export interface Column {
  readonly head: string;
  /** Width in relation to the sum of all columns' shares. */
  readonly share: number;
  readonly right?: boolean;
}

export interface TableRow {
  readonly cells: readonly string[];
  readonly strong?: boolean;
  /** Whether the row is a detail of the row above. */
  readonly sub?: boolean;
}

export interface Fact {
  readonly label: string;
  readonly value: string;
  /** Whether the value is an amount; when some amounts of a list have cents, all are printed with cents. */
  readonly isAmount?: boolean;
}

/** Members of a font that the library does not expose. */
interface OpenFont {
  hasGlyphForCodePoint(point: number): boolean;
  layout(text: string, features: unknown, ...rest: unknown[]): unknown;
}

interface Words {
  readonly size?: number;
  readonly bold?: boolean;
  readonly color?: string;
}

export interface About {
  readonly title: string;
  readonly author: string;
  readonly at: string;
  readonly size: PaperSize;
}

const amountWithCents = /^[+−]?[\d,]+\.\d\d$/;
const wholeAmount = /^[+−]?[\d,]+$/;

/** Adds cents to the whole amounts of each column in which some amounts have cents. */
function withCents(rows: readonly TableRow[]): TableRow[] {
  const columns = new Set(
    rows.flatMap(({ cells }) => cells.flatMap((cell, at) => (amountWithCents.test(cell) ? at : []))),
  );
  return rows.map((row) => ({
    ...row,
    cells: row.cells.map((cell, at) => (columns.has(at) && at > 0 && wholeAmount.test(cell) ? `${cell}.00` : cell)),
  }));
}

/** The pages of a document, tagged for screen readers: its headings, paragraphs and tables are marked as such. */
export class Pages {
  readonly #doc: PDFKit.PDFDocument;
  readonly #root: PDFKit.PDFStructureElement;
  readonly #chunks: Uint8Array[] = [];
  readonly #glyphs = new Map<string, boolean>();
  #y = margin.top;
  #lacks = false;
  /** Headings that are drawn together with the content below them, so that no heading ends a page. */
  #waiting: { readonly type: string; readonly said: string; readonly words: Words; readonly gap: number }[] = [];

  constructor({ title, author, at, size }: About, fonts: Fonts) {
    this.#doc = new Document({
      size: size === 'A4' ? 'A4' : 'LETTER',
      // This class breaks pages itself: with a bottom margin the library would add pages of its own.
      margins: { top: 0, left: 0, right: 0, bottom: 0 },
      // The fonts are registered by name below; a font first set by its file would be read again each time it is set by
      // its name.
      font: '',
      bufferPages: true,
      pdfVersion: '1.7',
      lang: 'en',
      tagged: true,
      displayTitle: true,
      info: { Title: title, Author: author, Creator: 'Dealkeep', CreationDate: new Date(at) },
    });
    this.#doc.registerFont('regular', fonts.regular).registerFont('bold', fonts.bold);
    for (const name of ['regular', 'bold']) {
      this.#doc.font(name);
      const font = this.#font;
      const layout = font.layout.bind(font);
      // Replaced on the font itself: with features in its own options the library bypasses its cache and shapes every
      // word anew.
      font.layout = (text, _features, ...rest) => layout(text, featuresOf(text.trim()), ...rest);
    }
    this.#doc.on('data', (chunk: Uint8Array) => this.#chunks.push(chunk));
    this.#root = this.#doc.struct('Document');
    this.#doc.addStructure(this.#root);
  }

  get #width(): number {
    return this.#doc.page.width - 2 * margin.side;
  }

  get #bottom(): number {
    return this.#doc.page.height - margin.bottom;
  }

  /** The current font, from the library's private field. */
  get #font(): OpenFont {
    const { _font: set } = this.#doc as unknown as { readonly _font: { readonly font: OpenFont } };
    return set.font;
  }

  /** Whether the type family has glyphs for the character. */
  #has(sign: string): boolean {
    let known = this.#glyphs.get(sign);
    if (known === undefined) {
      const font = this.#font;
      known = [...sign].every((one) => font.hasGlyphForCodePoint(one.codePointAt(0) ?? 0));
      this.#glyphs.set(sign, known);
    }
    return known;
  }

  /** The text on one line; each character without a glyph becomes a box. */
  #plain(text: string): string {
    const cut = text
      .toWellFormed()
      // Composes letters with the accents typed after them: the type family has glyphs for the composed characters.
      .normalize()
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .replace(/\p{Cf}+/gu, '')
      .trim();
    const short = cut.length > longest.characters ? `${cut.slice(0, longest.characters).toWellFormed()}…` : cut;
    return [...new Intl.Segmenter('en').segment(short)]
      .map(({ segment }) => {
        const simpler = [segment, segment.normalize('NFKC')].find((one) => this.#has(one));
        this.#lacks ||= simpler === undefined;
        return simpler ?? '□';
      })
      .join('');
  }

  #set({ size = 9, bold = false, color = ink.text }: Words): PDFKit.PDFDocument {
    return this.#doc
      .font(bold ? 'bold' : 'regular')
      .fontSize(size)
      .fillColor(color);
  }

  /** Draws content tagged with the structure type `type` below `parent`, for readers of tagged PDF. */
  #tagged(parent: PDFKit.PDFStructureElement, type: string, draw: () => void): void {
    const element = this.#doc.struct(type);
    parent.add(element);
    const content = this.#doc.markStructureContent(type);
    draw();
    this.#doc.endMarkedContent();
    element.add(content);
    element.end();
  }

  /** Draws decoration, which screen readers skip. */
  #decorate(draw: () => void): void {
    this.#doc.markContent('Artifact', { type: 'Layout' });
    draw();
    this.#doc.endMarkedContent();
  }

  #line(y: number, across = this.#width): void {
    this.#decorate(() =>
      this.#doc
        .moveTo(margin.side, y)
        .lineTo(margin.side + across, y)
        .lineWidth(0.5)
        .strokeColor(ink.line)
        .stroke(),
    );
  }

  #nextPage(): void {
    this.#doc.addPage();
    this.#y = margin.top;
  }

  #heightOf(plain: string, words: Words): number {
    const most = (this.#bottom - margin.top) * longest.row;
    return Math.min(this.#set(words).heightOfString(plain, { width: this.#width, lineGap: 1.5 }), most);
  }

  /** Begins a new page unless the height and the waiting headings fit on this page, and draws these headings. */
  #need(height: number): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const heads = waiting.reduce((sum, { said, words, gap }) => sum + this.#heightOf(said, words) + gap + 6, 0);
    if (this.#y + heads + height > this.#bottom) this.#nextPage();
    for (const { type, said, words, gap } of waiting) {
      if (this.#y > margin.top) this.#y += gap;
      this.#write(this.#root, type, said, words, this.#heightOf(said, words));
      this.#y += 5;
    }
  }

  #write(parent: PDFKit.PDFStructureElement, type: string, plain: string, words: Words, height: number): void {
    this.#tagged(parent, type, () =>
      this.#set(words).text(plain, margin.side, this.#y, {
        width: this.#width,
        height: height + 1,
        ellipsis: true,
        lineGap: 1.5,
      }),
    );
    this.#y += height;
  }

  #text(type: string, said: string, words: Words, after: number): void {
    const plain = this.#plain(said);
    if (plain === '') return;
    const height = this.#heightOf(plain, words);
    this.#need(height);
    this.#write(this.#root, type, plain, words, height);
    this.#y += after;
  }

  /** The head of the first page: brokerage, title and subject. */
  title(above: string, title: string, below: string): void {
    this.#text('P', above, { size: 10, color: ink.soft }, 10);
    this.#text('H1', title, { size: 20, bold: true }, 4);
    this.#text('P', below, { size: 11, color: ink.soft }, 14);
    this.#line(this.#y);
    this.#y += 14;
  }

  #wait(type: string, said: string, words: Words, gap: number): void {
    const plain = this.#plain(said);
    if (plain !== '') this.#waiting.push({ type, said: plain, words, gap });
  }

  /** A heading with its sentence, kept on the same page as the content that follows. */
  section(title: string, sentence = ''): void {
    this.#wait('H2', title, { size: 13, bold: true }, 16);
    this.#wait('P', sentence, { size: 9, color: ink.soft }, 0);
  }

  subsection(title: string): void {
    this.#wait('H3', title, { size: 10, bold: true }, 8);
  }

  paragraph(said: string, words: Words = {}): void {
    this.#text('P', said, words, 5);
  }

  /**
   * Sentences that are kept together on a page, under the headings above them, unless they take half a page or more.
   */
  paragraphs(said: readonly string[]): void {
    const heights = said.map((one) => this.#heightOf(this.#plain(one), {}) + 5);
    const all = heights.reduce((sum, height) => sum + height, 0);
    if (all < (this.#bottom - margin.top) / 2) this.#need(all);
    for (const one of said) this.paragraph(one);
  }

  soft(said: string): void {
    this.paragraph(said, { color: ink.faint, size: 8.5 });
  }

  /** Facts beside each other, `columns` in a row. */
  facts(facts: readonly Fact[], columns = 4): void {
    const width = this.#width / columns;
    const room = { width: width - 12, lineGap: 1 };
    const cents = facts.some(({ value, isAmount }) => isAmount && amountWithCents.test(value)) ? '.00' : '';
    for (let at = 0; at < facts.length; at += columns) {
      const line = facts.slice(at, at + columns).map(({ label, value, isAmount = false }) => ({
        label: this.#plain(label),
        value: `${this.#plain(value)}${isAmount && wholeAmount.test(value) ? cents : ''}`,
      }));
      const widest = Math.max(...line.map(({ value }) => this.#set({ size: 100, bold: true }).widthOfString(value)));
      const size = [12, 10, 8.5].find((one) => (widest * one) / 100 <= room.width) ?? 7;
      const heights = line.map(({ label, value }) => [
        this.#set({ size: 8 }).heightOfString(label, room),
        this.#set({ size, bold: true }).heightOfString(value, room),
      ]);
      const [labels, values] = [0, 1].map((part) => Math.max(...heights.map((both) => both[part] ?? 0)));
      const height = Math.min((labels ?? 0) + (values ?? 0), 200);
      // With some of the content that follows on the same page.
      this.#need(height + 80);
      line.forEach(({ label, value }, place) => {
        const x = margin.side + place * width;
        this.#tagged(this.#root, 'P', () => {
          this.#set({ size: 8, color: ink.faint }).text(label, x, this.#y, room);
          this.#set({ size, bold: true }).text(value, x, this.#y + (labels ?? 0), {
            ...room,
            height: (values ?? 0) + 1,
          });
        });
      });
      this.#y += height + 10;
    }
  }

  /** A table whose headings are repeated on every page. `part` is its fraction of the page's width. */
  table(columns: readonly Column[], rows: readonly TableRow[], part = 1): void {
    if (rows.length === 0) return;
    const all = columns.reduce((sum, { share }) => sum + share, 0);
    const pad = 4;
    const across = this.#width * part;
    let left = margin.side;
    const places = columns.map(({ share, right = false }, at) => {
      const width = (share / all) * across;
      // Separates text from a column of right-aligned numbers before it.
      const gap = !right && columns[at - 1]?.right === true ? 3 * pad : pad;
      const place = { x: left + gap, width: width - gap - pad, right };
      left += width;
      return place;
    });
    const printed = withCents(rows.map((row) => ({ ...row, cells: row.cells.map((one) => this.#plain(one)) })));
    const size = this.#fitting(places, printed);
    const most = (this.#bottom - margin.top) * longest.row;
    const options = (place: (typeof places)[number]) => ({
      width: place.width,
      align: place.right ? ('right' as const) : ('left' as const),
      lineGap: 1,
    });
    const heightOf = (cells: readonly string[], words: Words): number =>
      Math.min(
        most,
        Math.max(
          ...places.map((place, at) => this.#set({ ...words, size }).heightOfString(cells[at] || ' ', options(place))),
        ),
      ) + 6;

    const table = this.#doc.struct('Table');
    this.#root.add(table);
    const drawn = (
      cells: readonly string[],
      height: number,
      words: Words,
      kind: (at: number) => 'TH' | 'TD' | null,
    ): void => {
      const row = kind(0) === null ? null : this.#doc.struct('TR');
      if (row) table.add(row);
      places.forEach((place, at) => {
        const draw = () =>
          this.#set({ ...words, size }).text(cells[at] ?? '', place.x, this.#y + 3, {
            ...options(place),
            height: height - 5,
            ellipsis: true,
          });
        const type = kind(at);
        if (row && type) this.#tagged(row, type, draw);
        else this.#decorate(draw);
      });
      row?.end();
      this.#y += height;
    };
    const heads = columns.map(({ head }) => this.#plain(head));
    const hasHeads = heads.some((head) => head !== '');
    const headWords: Words = { color: ink.faint };
    const headHeight = hasHeads ? heightOf(heads, headWords) : 0;
    const heading = (again: boolean): void => {
      if (!hasHeads) return;
      this.#decorate(() => this.#doc.rect(margin.side, this.#y, across, headHeight).fill(ink.band));
      drawn(heads, headHeight, headWords, () => (again ? null : 'TH'));
    };

    const words = printed.map(({ strong = false, sub = false }): Words => ({
      bold: strong,
      color: sub ? ink.faint : ink.text,
    }));
    const heights = printed.map(({ cells }, at) => heightOf(cells, words[at] ?? {}));
    // A table that fits on a page is not split, unless moving it would leave much of a page empty.
    const whole = headHeight + heights.reduce((sum, height) => sum + height, 0);
    const page = this.#bottom - margin.top;
    const isShort = whole <= page * 0.45 && this.#bottom - this.#y <= page * mostEmpty;
    this.#need(isShort ? whole : headHeight + heights.slice(0, fewest).reduce((sum, height) => sum + height, 0));
    heading(false);
    printed.forEach((row, at) => {
      const height = heights[at] ?? 0;
      // No single row is left for the next page.
      const together = at === printed.length - 2 ? height + (heights[at + 1] ?? 0) : height;
      if (this.#y + together > this.#bottom) {
        this.#nextPage();
        heading(true);
      } else if (!row.sub && (at > 0 || !hasHeads)) this.#line(this.#y, across);
      drawn(row.cells, height, words[at] ?? {}, (place) => (place === 0 ? 'TH' : 'TD'));
    });
    table.end();
    this.#line(this.#y, across);
    this.#y += 10;
  }

  /** The largest of the font sizes at which no amount has to be broken. */
  #fitting(places: readonly { width: number; right: boolean }[], rows: readonly TableRow[]): number {
    const sizes = [8.5, 8, 7.5, 7, 6.5, 6];
    const widest = places.map(({ right }, at) =>
      right
        ? Math.max(0, ...rows.map(({ cells }) => this.#set({ size: 100, bold: true }).widthOfString(cells[at] ?? '')))
        : 0,
    );
    return sizes.find((size) => places.every(({ width }, at) => ((widest[at] ?? 0) * size) / 100 <= width)) ?? 6;
  }

  /** Whether a text had characters that the type family has no glyphs for. */
  get lacksSigns(): boolean {
    return this.#lacks;
  }

  /**
   * Ends the document with the same two texts, the day and the page number at the foot of every page; returns its
   * bytes.
   */
  async ended(first: string, second: string, day: string): Promise<Buffer> {
    const { start, count } = this.#doc.bufferedPageRange();
    const whole = { width: this.#width, height: 11, ellipsis: true, lineBreak: true };
    for (let page = 0; page < count; page += 1) {
      this.#doc.switchToPage(start + page);
      const y = this.#doc.page.height - margin.bottom + 22;
      this.#line(y - 6);
      this.#doc.markContent('Artifact', { type: 'Pagination' });
      const print = (text: string, below: number, align: 'left' | 'right') =>
        this.#set({ size: 7.5, color: ink.faint }).text(text, margin.side, y + below, { ...whole, align });
      print(this.#plain(first), 0, 'left');
      print(`${day} · ${page + 1} of ${count}`, 0, 'right');
      print(this.#plain(second), 11, 'left');
      this.#doc.endMarkedContent();
    }
    this.#root.end();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#doc.once('end', resolve);
    this.#doc.end();
    await promise;
    return Buffer.concat(this.#chunks);
  }
}
