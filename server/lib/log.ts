/** The log: one JSON object per line, without credentials. */

import { pino, type Logger, type LoggerOptions } from 'pino';

export type { Logger };

/** The destination of log lines; `write` gets one complete line with its line break. */
interface LogDestination {
  write(line: string): void;
}

// A safety net for the rule that no secret is logged: matches our own credentials, and passwords in URLs.
const credentials =
  /\b(?:dk_(?:live|test)_[0-9a-f]{8,}|dk[acr]_[A-Za-z0-9_-]{8,})|(?<=:\/\/[^\s/:@"]*:)[^\s/@"]+(?=@)/g;

/** An error in the log. The details of a database error quote values of rows, so they are left out. */
function serializedError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  const place =
    'table' in error && error.table
      ? { table: error.table, constraint: 'constraint' in error && error.constraint }
      : {};
  return { name, message, ...code, ...place, stack, ...(cause === undefined ? {} : { cause: serializedError(cause) }) };
}

const options: LoggerOptions = {
  base: null,
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  formatters: { level: (label) => ({ level: label }) },
  serializers: { err: serializedError },
  redact: {
    paths: [
      'authorization',
      'cookie',
      'headers',
      'password',
      'token',
      '*.authorization',
      '*.cookie',
      '*.password',
      '*.token',
    ],
    censor: '[redacted]',
  },
  hooks: { streamWrite: (line) => line.replace(credentials, '[redacted]') },
};

const plain = new Set(['level', 'time', 'msg', 'err']);

// Text from a stranger, such as a path, must neither begin a line of its own nor control the terminal.
const visible = (text: string): string =>
  text.replaceAll(/[^\P{C}\n]|[\u2028\u2029]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
const inOneLine = (text: string): string => visible(text).replaceAll('\n', '\\n');

/** Formats a line for the person who started the server in a terminal. */
function forTerminal(line: string): string {
  const entry = JSON.parse(line) as { level: string; time: string; msg?: string; err?: { stack?: string } };
  const rest = Object.entries(entry).filter(([name]) => !plain.has(name));
  const details = rest.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const level = entry.level === 'info' ? '' : `${entry.level}: `;
  const stack = entry.err?.stack ? `\n${visible(entry.err.stack)}` : '';
  return `${entry.time.slice(11, 19)} ${level}${inOneLine([entry.msg, ...details].filter(Boolean).join('  '))}${stack}\n`;
}

/**
 * A logger at `level` that writes to `destination`; by default to standard output, as JSON, or as readable lines in a
 * terminal. The fields that `more` returns are added to each line.
 */
export function createLog(level: string, destination?: LogDestination, more?: () => object): Logger {
  const all = { ...options, level, ...(more && { mixin: more }) };
  if (destination) return pino(all, destination);
  if (!process.stdout.isTTY) return pino(all);
  return pino(all, { write: (line: string) => void process.stdout.write(forTerminal(line)) });
}
