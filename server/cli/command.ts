/**
 * Shared parts of the operator's commands: the owner's connection, printing the result, and parsing the values of
 * options.
 */

import { InvalidArgumentError } from 'commander';
import type pg from 'pg';
import type { Config } from '../config/config.ts';
import type * as Administration from '../domain/accounts/administration.ts';
import { keyScopes, type KeyScope } from '../domain/clients/key-scopes.ts';
import { charactersIn, isVisible } from '../domain/characters.ts';
import { isEmailAddress } from '../lib/email-address.ts';
import { faultOfName } from '../domain/people/names.ts';

interface CommandContext {
  /** The operations that commands carry out. */
  readonly do: typeof Administration;
  /** The connection of the database's owner. */
  readonly client: pg.Client;
  readonly config: Config;
}
type Work<Options, Result> = (context: CommandContext, options: Options) => Promise<Result>;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Runs `work` as the owner and prints its result: as JSON with --json, otherwise as formatted by `words`. */
export function command<Options extends { json?: boolean }, Result>(
  work: Work<Options, Result>,
  words: (result: Result) => string,
) {
  return async (options: Options): Promise<void> => {
    // Imported only now: printing help or rejecting an option needs none of these modules.
    const [{ readConfig }, { asOwner }, administration] = await Promise.all([
      import('../config/config.ts'),
      import('../database/connections.ts'),
      import('../domain/accounts/administration.ts'),
    ]);
    const config = readConfig();
    const result = await asOwner(config, (client) => work({ do: administration, client, config }, options));
    say(options.json ? JSON.stringify(result) : words(result));
  };
}

/** Parses an option: a whole number from 1 to 100000. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) < 1 || Number(text) > 100_000) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 100000.');
  }
  return Number(text);
}

/** Parses an option: a date or time in the future. */
export function futureTime(text: string): Date {
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text) ? new Date(text) : null;
  // Date would turn the 31st of a shorter month into a day of the next month.
  const day = text.slice(0, 10);
  const isDay = time !== null && !Number.isNaN(time.getTime()) && new Date(day).toISOString().startsWith(day);
  if (time === null || !isDay) {
    throw new InvalidArgumentError('It must be a date, 2030-12-31, or a time with its zone, 2030-12-31T12:00:00Z.');
  }
  if (time.getTime() <= Date.now()) throw new InvalidArgumentError('It must be in the future.');
  return time;
}

/** Parses an option: scopes of API keys. */
export function scopeList(text: string): KeyScope[] {
  const scopes = text.split(/[\s,]+/).filter(Boolean);
  const unknown = scopes.filter((scope) => !(keyScopes as readonly string[]).includes(scope));
  if (scopes.length === 0 || unknown.length > 0)
    throw new InvalidArgumentError(`It must be a list of: ${keyScopes.join(', ')}.`);
  return [...new Set(scopes)] as KeyScope[];
}

/** Makes the parser of an option that matches `pattern`; `allowed` ends the sentence "It must be …". */
export function fitting(pattern: RegExp, allowed: string) {
  return (text: string): string => {
    if (!pattern.test(text)) throw new InvalidArgumentError(`It must be ${allowed}.`);
    return text;
  };
}

/** Makes the parser of an option: a line of 1 to `max` visible characters, trimmed. */
export const lineUpTo =
  (max: number) =>
  (text: string): string => {
    const given = text.trim();
    if (given === '' || charactersIn(given) > max || !isVisible(given))
      throw new InvalidArgumentError(`It must be 1 to ${max} visible characters.`);
    return given;
  };

/** Parses an option: the name of a person or a brokerage. */
export function properName(text: string): string {
  const name = text.trim();
  const fault = faultOfName(name);
  if (fault !== null) throw new InvalidArgumentError(fault);
  return name;
}

/** Parses an option: an e-mail address. */
export function emailAddress(text: string): string {
  if (!isEmailAddress(text)) throw new InvalidArgumentError('It must be an e-mail address.');
  return text;
}
/** The option of every command that prints a result. */
export const json = ['--json', 'print the result as JSON'] as const;
/** The option that names a brokerage. */
export const brokerage = ['--brokerage <id or slug>', 'the brokerage'] as const;
