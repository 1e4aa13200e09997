/** The files of the sample documents in every sandbox: part of the program, not of the store. */

import type { Storage } from './storage.ts';

const lines = (...all: readonly string[]): Buffer => Buffer.from(`${all.join('\r\n')}\r\n`);

/**
 * By the number in their storage keys; app.fill_sandbox has the size and the digest of each. Files never change: a new
 * file gets a new number.
 */
export const samples: Readonly<Record<string, Buffer>> = {
  1: lines(
    'Print shop with 60 standing accounts',
    'Cleveland, Ohio',
    '',
    'Offset and digital printing for schools, parishes and restaurants.',
    'Revenue of $1.1 million, owner earnings of $240,000. Offered at $890,000.',
    '',
    'This is a sample in a sandbox.',
  ),
  2: lines('Year,Agreements,Renewed', '2023,2104,1902', '2024,2236,2041', '2025,2301,2118'),
  3: lines(
    'Lease of the shop and yard',
    '',
    'Term: five years, with one option of five more.',
    'Rent: $7,400 a month, 3 percent more each year.',
    'Assignment: with the consent of the landlord.',
    '',
    'This is a sample in a sandbox.',
  ),
  4: lines(
    'Month,Revenue,Cost of goods sold,Operating expenses',
    'January,394150.00,216782.50,86713.00',
    'February,398300.00,219065.00,87626.00',
    'March,402450.00,221347.50,88539.00',
  ),
};

const shape = /^sandbox-(\d+)-[0-9a-f]{32}$/;

/**
 * Wraps a store so that the keys of samples read the program's files. Samples are never written to the store or removed
 * from it.
 */
export function withSamples(storage: Storage): Storage {
  return {
    ...storage,
    async write(key, body) {
      if (!shape.test(key)) return storage.write(key, body);
      // From a backup that is being restored: the body is the same as the program's file.
      const parts = body[Symbol.asyncIterator]();
      while (!(await parts.next()).done);
    },
    async read(key, span) {
      const number = shape.exec(key)?.[1];
      if (number === undefined) return storage.read(key, span);
      const bytes = samples[number];
      if (bytes === undefined) return null;
      const { first = 0, last = bytes.length - 1 } = span ?? {};
      return new Blob([Uint8Array.from(bytes.subarray(first, last + 1))]).stream();
    },
    async remove(key) {
      if (!shape.test(key)) await storage.remove(key);
    },
  };
}
