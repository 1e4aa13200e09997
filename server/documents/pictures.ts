/**
 * Small pictures that are shown to others. They are parsed by the structure of their format, never decoded, and
 * reassembled from the parts that display needs: metadata of a camera or program, and bytes after the end, are dropped.
 * Pictures with too many pixels are rejected, so that decoding them later does not take much memory.
 */

import { crc32 } from 'node:zlib';
import { NotTaken } from './kinds.ts';

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

export interface Picture {
  readonly mediaType: (typeof pictureTypes)[number];
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  readonly bytes: Buffer;
}

/** Limits: bytes, the same in words, and pixels per side. The page states them too. */
export const mostOfPicture = { bytes: 200_000, words: '200 KB', side: 2_000 } as const;

/** The error message for a picture with more bytes. */
export const pictureTooLarge = `The file is too large: it may have ${mostOfPicture.words}.`;

type Size = Pick<Picture, 'width' | 'height'>;

const damaged = (): NotTaken => new NotTaken('This picture is damaged. Save it again, and upload that.');
const moves = (): NotTaken => new NotTaken('This picture is animated. Upload a still one.');

/** PNG's chunks that determine the displayed image (PNG specification, third edition, 11). */
const shownByPng = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'sBIT']);
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function readPng(bytes: Buffer): Picture {
  const parts: Buffer[] = [pngSignature];
  let size: Size | null = null;
  let hasData = false;
  for (let at = pngSignature.length; ;) {
    if (at + 12 > bytes.length) throw damaged();
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length || crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) throw damaged();
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'acTL') throw moves();
    if ((type === 'IHDR') !== (size === null)) throw damaged();
    if (type === 'IHDR') {
      if (end - at !== 25) throw damaged();
      size = { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) };
    }
    hasData ||= type === 'IDAT';
    if (shownByPng.has(type)) parts.push(bytes.subarray(at, end));
    // The names of chunks that are needed for display begin with a capital letter.
    else if (/^[A-Z]/.test(type)) throw damaged();
    if (type === 'IEND') break;
    at = end;
  }
  if (size === null || !hasData) throw damaged();
  return { mediaType: 'image/png', ...size, bytes: Buffer.concat(parts) };
}

/**
 * Returns where the scan data that begins at `at` ends: at the next marker that is not part of the data (ITU-T T.81,
 * B.1.1).
 */
function endOfScan(bytes: Buffer, at: number): number {
  for (let place = bytes.indexOf(0xff, at); place !== -1; place = bytes.indexOf(0xff, place + 1)) {
    const next = bytes[place + 1];
    if (next === undefined) break;
    const isData = next === 0x00 || next === 0xff || (next >= 0xd0 && next <= 0xd7);
    if (!isData) return place;
  }
  throw damaged();
}

const jpeg = { end: 0xd9, scan: 0xda, jfif: 0xe0, adobe: 0xee, comment: 0xfe } as const;
/** Frames of baseline, extended and progressive JPEG; programs do not display other kinds. */
const frames = new Set([0xc0, 0xc1, 0xc2]);
/** Tables, intervals and scans. */
const shownByJpeg = new Set([0xc4, 0xdb, 0xdd, jpeg.scan, jpeg.adobe]);

function readJpeg(bytes: Buffer): Picture {
  const parts = [bytes.subarray(0, 2)];
  let size: Size | null = null;
  let hasData = false;
  for (let at = 2; ;) {
    if (bytes[at] !== 0xff) throw damaged();
    while (bytes[at] === 0xff) at += 1;
    const marker = bytes[at];
    if (marker === jpeg.end) break;
    if (marker === undefined || at + 3 > bytes.length) throw damaged();
    const length = bytes.readUInt16BE(at + 1);
    let end = at + 1 + length;
    if (length < 2 || end > bytes.length) throw damaged();
    if (frames.has(marker)) {
      if (size !== null || length < 8) throw damaged();
      size = { height: bytes.readUInt16BE(at + 4), width: bytes.readUInt16BE(at + 6) };
    }
    if (marker === jpeg.scan) {
      if (size === null) throw damaged();
      hasData = true;
      end = endOfScan(bytes, end);
    }
    // A longer JFIF segment contains a thumbnail.
    const isJfif = marker === jpeg.jfif && length === 16;
    if (isJfif || frames.has(marker) || shownByJpeg.has(marker))
      parts.push(Buffer.from([0xff]), bytes.subarray(at, end));
    else if ((marker & 0xf0) !== 0xe0 && marker !== jpeg.comment) throw damaged();
    at = end;
  }
  if (size === null || !hasData) throw damaged();
  return { mediaType: 'image/jpeg', ...size, bytes: Buffer.concat([...parts, Buffer.from([0xff, jpeg.end])]) };
}

/** The frame's own size (RFC 6386, 9.1; RFC 9649, 3.4). */
function sizeOfWebpFrame(type: string, data: Buffer): Size {
  if (data.length < 10) throw damaged();
  if (type === 'VP8L') {
    if (data[0] !== 0x2f) throw damaged();
    const bits = data.readUInt32LE(1);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (data.readUIntBE(3, 3) !== 0x9d012a) throw damaged();
  return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
}

const webp = { alpha: 0x10, animation: 0x02 } as const;

function readWebp(bytes: Buffer): Picture {
  const stop = 8 + bytes.readUInt32LE(4);
  if (stop > bytes.length) throw damaged();
  const parts: Buffer[] = [];
  let canvas: Size | null = null;
  let size: Size | null = null;
  for (let at = 12; at < stop;) {
    if (at + 8 > stop) throw damaged();
    const type = bytes.toString('latin1', at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (end > stop) throw damaged();
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (type === 'ANIM' || type === 'ANMF') throw moves();
    if (type === 'VP8X') {
      if (at !== 12 || length !== 10) throw damaged();
      if ((data[0]! & webp.animation) !== 0) throw moves();
      canvas = { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
      const head = Buffer.from(bytes.subarray(at, end));
      head[8] = data[0]! & webp.alpha;
      parts.push(head);
    } else if (type === 'VP8 ' || type === 'VP8L') {
      if (size !== null) throw damaged();
      size = sizeOfWebpFrame(type, data);
      parts.push(bytes.subarray(at, end));
    } else if (type === 'ALPH' && canvas !== null && size === null) parts.push(bytes.subarray(at, end));
    at = end;
  }
  if (size === null || (canvas !== null && (canvas.width !== size.width || canvas.height !== size.height)))
    throw damaged();
  const kept = Buffer.concat([bytes.subarray(0, 12), ...parts]);
  kept.writeUInt32LE(kept.length - 8, 4);
  return { mediaType: 'image/webp', ...size, bytes: kept };
}

function readerOf(bytes: Buffer): ((bytes: Buffer) => Picture) | null {
  if (bytes.subarray(0, 8).equals(pngSignature)) return readPng;
  if (bytes.length > 4 && bytes.readUIntBE(0, 3) === 0xffd8ff) return readJpeg;
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  return isWebp ? readWebp : null;
}

/**
 * Returns the picture in these bytes, recognized only by their content. Throws {@link NotTaken} for any other content,
 * and for a picture that is too large.
 */
export function readPicture(bytes: Buffer): Picture {
  if (bytes.length > mostOfPicture.bytes) throw new NotTaken(pictureTooLarge);
  const read = readerOf(bytes);
  if (read === null) throw new NotTaken('Mail programs cannot show this file. Upload a PNG, JPEG or WebP picture.');
  const picture = read(bytes);
  const { width, height } = picture;
  if (width === 0 || height === 0) throw damaged();
  if (Math.max(width, height) > mostOfPicture.side)
    throw new NotTaken(
      `The picture has ${width} × ${height} pixels: at most ${mostOfPicture.side} on a side. Make it smaller first.`,
    );
  return picture;
}
