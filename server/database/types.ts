/** Converts PostgreSQL's text to JavaScript values by type OID, and JavaScript values to PostgreSQL's text. */

import { parse as parseArray } from 'postgres-array';

/**
 * A parameter of a statement. An array is a PostgreSQL array (a JSON array: `JSON.stringify` it); an object is JSON.
 */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Uint8Array
  | null
  | undefined
  | readonly Value[]
  | { readonly [key: string]: unknown };

/** Converts the text of one column of one row to a value. Never throws on text that PostgreSQL wrote. */
export type Decoder = (text: string) => unknown;

const asNumber: Decoder = (text) => Number(text);
const asBoolean: Decoder = (text) => text === 't';
const asJson: Decoder = (text) => JSON.parse(text);
const asBytes: Decoder = (text) => Buffer.from(text.slice(2), 'hex');
const asNothing: Decoder = () => null;
const asText: Decoder = (text) => text;

const timestampParts =
  /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

/**
 * Converts a `timestamptz` to RFC 3339 in UTC with milliseconds (microseconds are cut off, not rounded). `infinity` and
 * `-infinity` stay unchanged; years outside 0000 to 9999, which RFC 3339 does not allow, take the expanded form of ISO
 * 8601.
 */
export function timestamp(text: string): string {
  const length = text.length;
  if (text.endsWith('+00') && text.charCodeAt(4) === 45 && length >= 22) {
    const milliseconds = length === 22 ? '000' : text.slice(20, Math.min(23, length - 3)).padEnd(3, '0');
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
  }
  const parts = timestampParts.exec(text);
  if (!parts) return text;
  const [
    ,
    year,
    month,
    day,
    hours,
    minutes,
    seconds,
    fraction = '',
    sign,
    offsetHours,
    offsetMinutes,
    offsetSeconds,
    bc,
  ] = parts;
  const moment = new Date(0);
  moment.setUTCFullYear(bc ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day));
  moment.setUTCHours(Number(hours), Number(minutes), Number(seconds), Number(fraction.slice(0, 3).padEnd(3, '0')));
  const offset = Number(offsetHours) * 3600 + Number(offsetMinutes ?? 0) * 60 + Number(offsetSeconds ?? 0);
  moment.setTime(moment.getTime() - (sign === '-' ? -offset : offset) * 1000);
  return moment.toISOString();
}

const scalars: [oid: number, arrayOid: number, decode: Decoder | undefined][] = [
  [16, 1000, asBoolean],
  [17, 1001, asBytes],
  [19, 1003, undefined], // name
  [20, 1016, undefined], // int8: more digits than a number holds exactly
  [21, 1005, asNumber],
  [23, 1007, asNumber],
  [25, 1009, undefined], // text
  [26, 1028, asNumber],
  [114, 199, asJson],
  [700, 1021, asNumber],
  [701, 1022, asNumber],
  [869, 1041, undefined], // inet
  [1042, 1014, undefined], // bpchar
  [1043, 1015, undefined], // varchar
  [1082, 1182, undefined], // date
  [1114, 1115, undefined], // timestamp without time zone
  [1184, 1185, timestamp],
  [1700, 1231, undefined], // numeric: exact decimals stay text
  [2950, 2951, undefined], // uuid
  [3802, 3807, asJson],
];

const decoders = new Map<number, Decoder>([[2278, asNothing]]); // void
for (const [oid, arrayOid, decode] of scalars) {
  if (decode) decoders.set(oid, decode);
  decoders.set(arrayOid, (text) => parseArray(text, decode ?? asText));
}

/** Returns the decoder of a type, or undefined when its text is the value. */
export const decoderOf = (oid: number): Decoder | undefined => decoders.get(oid);

const element = (value: Value): string => {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) return `{${value.map(element).join(',')}}`;
  const text = value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(encode(value));
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
};

/**
 * Encodes a parameter for the wire: text, bytes (sent in binary form), or null. Throws on an invalid date and on
 * circular JSON.
 */
export function encode(value: Value): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value);
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return element(value);
  return JSON.stringify(value);
}
