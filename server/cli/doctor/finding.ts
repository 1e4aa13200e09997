/** The findings of `dealkeep doctor`, and the time limit of each check. */

import { setTimeout as pause } from 'node:timers/promises';
import { reasonOf } from '../../lib/reason.ts';

/** `fault`: something does not work or is not safe; `warning`: it works, but the operator should act. */
export type Level = 'ok' | 'warning' | 'fault';

export interface Finding {
  readonly check: string;
  readonly level: Level;
  /** What was found, as a sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** Collects the findings of one check. */
export interface Findings {
  ok(message: string): void;
  warning(message: string, remedy: string): void;
  fault(message: string, remedy: string): void;
  readonly list: readonly Finding[];
}

/** Returns an empty collection of findings for a check. */
export function findingsOf(check: string): Findings {
  const list: Finding[] = [];
  return {
    list,
    ok: (message) => void list.push({ check, level: 'ok', message }),
    warning: (message, remedy) => void list.push({ check, level: 'warning', message, remedy }),
    fault: (message, remedy) => void list.push({ check, level: 'fault', message, remedy }),
  };
}

/** How long one check may take, in milliseconds; the check that reads every byte of every document has no limit. */
export const longest = 30_000;

/** Returns the findings of `look`, with an additional fault when it fails or takes longer than `millis`. */
export async function bounded(
  check: string,
  look: (findings: Findings) => Promise<void>,
  millis = longest,
): Promise<readonly Finding[]> {
  const findings = findingsOf(check);
  const late = new AbortController();
  const timeout = pause(millis, undefined, { signal: late.signal, ref: false }).then(
    () => {
      throw new Error(`no answer within ${millis / 1000} s`);
    },
    () => {},
  );
  try {
    await Promise.race([look(findings), timeout]);
  } catch (error) {
    findings.fault(
      `It could not be checked: ${reasonOf(error)}.`,
      'Check that what it needs is reachable from here, and run dealkeep doctor again.',
    );
  } finally {
    late.abort();
  }
  return [...findings.list];
}
