/** Prepares the environment for config.ts: reads secrets from files, and finds variables that are probably misspelt. */

import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment, and a sentence for each error. */
export interface Resolved {
  readonly env: Environment;
  readonly faults: readonly string[];
}

/** Maximum number of characters in a secret's file. */
const longestSecret = 65_536;

function contentOf(variable: string, file: string): { content?: string; fault?: string } {
  try {
    const content = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (content === '') return { fault: `${variable} names "${file}", which is empty.` };
    if (content.length > longestSecret) return { fault: `${variable} names "${file}", which is too long.` };
    return { content };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no file';
    return { fault: `${variable} names "${file}", which cannot be read (${code}).` };
  }
}

/**
 * Sets each of these variables NAME to the content of the file that NAME_FILE names, without a line break at its end.
 */
export function withSecretFiles(env: Environment, names: readonly string[]): Resolved {
  const found: Record<string, string> = {};
  const faults: string[] = [];
  for (const name of names) {
    const variable = `${name}_FILE`;
    const file = env[variable];
    if (!file) continue;
    if (env[name]) {
      faults.push(`${name} and ${variable} are both set; set one of them.`);
      continue;
    }
    const { content, fault } = contentOf(variable, file);
    if (fault !== undefined) faults.push(fault);
    else if (content !== undefined) found[name] = content;
  }
  return { env: { ...env, ...found }, faults };
}

/**
 * The number of letters that are added, omitted, changed or swapped with their neighbour between two words (optimal
 * string alignment).
 */
function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column += 1) {
      const changed = one[row - 1] === other[column - 1] ? 0 : 1;
      const swapped =
        one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
          ? at(row - 2, column - 2) + 1
          : Infinity;
      const best = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + changed,
        swapped,
      );
      rows[row]?.push(best);
    }
  }
  return at(one.length, other.length);
}

/**
 * Maximum number of letters by which a misspelt name may differ from one of ours: short names resemble too many others.
 */
function furthest(name: string): number {
  if (name.length < 6) return 0;
  return name.length < 9 ? 1 : 2;
}

const sorted = (word: string): string => [...word].toSorted().join('');

function isNear(given: string, name: string): boolean {
  if (Math.abs(given.length - name.length) > 2) return false;
  const found = distance(given, name);
  // In a short name only two swapped letters count: PROT.
  return found <= furthest(name) || (found === 1 && given.length === name.length && sorted(given) === sorted(name));
}

/** Variables of other programs and platforms that resemble one of ours but mean something else. */
const others: ReadonlySet<string> = new Set([
  'DATABASE_PORT',
  'OTEL_BLRP_SCHEDULE_DELAY',
  'OTEL_BLRP_MAX_QUEUE_SIZE',
  'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE',
]);

/**
 * A sentence for each variable whose name is one or two letters from one of `names` that is not set. A variable that
 * resembles only names that are set was meant for another program. `env` has the secrets that files set.
 */
export function misspelt(env: Environment, names: readonly string[]): string[] {
  const known = new Set(names);
  const absent = names.filter((name) => !env[name]);
  return Object.keys(env).flatMap((given) => {
    if (!env[given] || known.has(given) || others.has(given) || !/^[A-Z][A-Z0-9_]{2,60}$/.test(given)) return [];
    const near = absent.filter((name) => isNear(given, name));
    const likely = near.toSorted((one, other) => distance(given, one) - distance(given, other))[0];
    if (likely === undefined) return [];
    return [
      `${given} is not a Dealkeep variable; ${likely} is probably meant. If it is for another program, start Dealkeep without it (env -u ${given}).`,
    ];
  });
}
