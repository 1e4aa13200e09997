/** The environment variables of the configuration: their allowed values and defaults. */

import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { backupKey } from '../lib/backup-key.ts';
import { isEmailAddress } from '../lib/email-address.ts';
import { protocols, samplerNames } from './tracing.ts';

const whole = (low: number, high: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().int().min(low).max(high));
const onOff = z.enum(['on', 'off']).transform((text) => text === 'on');
const words = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean),
);
/** A URL with a host after two slashes: without the slashes the parser takes what follows for a path. */
const urlOf = (protocol: RegExp) => z.url({ protocol }).regex(/^[a-z]+:\/\//i);
const postgresUrl = urlOf(/^postgres(ql)?$/);

const origin = z
  .url({ protocol: /^https?$/ })
  .refine((text) => /^[a-z]+:\/\/[^/?#@]+\/?$/i.test(text), { abort: true })
  .transform((text) => new URL(text).origin);

const network = z.string().refine((text) => {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
});

/** Whether the path is a directory or does not exist. An inaccessible path is reported when it is used. */
function mayBeDirectory(text: string): boolean {
  try {
    return statSync(text).isDirectory();
  } catch {
    return true;
  }
}

/**
 * Whether the value is a sender address, optionally in angle brackets after a name. Its host may be a name without a
 * dot in the local network.
 */
function isSender(given: string): boolean {
  const named = /^(?:"(?:[^"\\\p{Cc}]|\\\P{Cc})*" *|[^"<>,;:@\p{Cc}]*)<([^<>]*)>$/u.exec(given);
  const address = named?.[1] ?? given;
  return isEmailAddress(address) || isEmailAddress(`${address}.localdomain`);
}

interface Variable<Schema extends z.ZodType> {
  schema: Schema;
  /** The allowed values, completing the sentence "… must be". */
  allowed: string;
  /** Whether the value is a secret, which error messages do not repeat. */
  secret: boolean;
}

function variable<Schema extends z.ZodType>(schema: Schema, allowed: string): Variable<Schema> {
  return { schema, allowed, secret: false };
}
function secret<Schema extends z.ZodType>(schema: Schema, allowed: string): Variable<Schema> {
  return { schema, allowed, secret: true };
}
const perMinute = variable(whole(1, 1_000_000).optional(), 'a whole number from 1 to 1000000 (per minute)');
const text = z.string().min(1).optional();
const collector = variable(z.url({ protocol: /^https?$/ }).optional(), 'a URL such as http://127.0.0.1:4318');
const otlpProtocol = variable(z.enum(protocols).optional(), protocols.join(', '));
const otlpHeaders = secret(text, 'a list such as api-key=abc,tenant=one');
const milliseconds = variable(whole(1, 600_000).optional(), 'a whole number of milliseconds from 1 to 600000');

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration such as 30m, 24h or 7d, in milliseconds. */
const span = z
  .string()
  .regex(/^[1-9]\d{0,4}[mhd]$/)
  .transform((written) => Number(written.slice(0, -1)) * units[written.slice(-1) as keyof typeof units])
  .pipe(
    z
      .number()
      .min(5 * units.m)
      .max(366 * units.d),
  );

/** A backup destination: s3://bucket/folder, or a folder. */
const backupDestination = z
  .string()
  .refine(
    (given) => !/^(s3:|[a-z][\w+.-]+:\/)/i.test(given) || /^s3:\/\/[a-z0-9][a-z0-9.-]*(\/[\w.-]+)*\/?$/.test(given),
  )
  .refine(mayBeDirectory);

/** All variables. An empty value counts as not set. */
export const variables = {
  HOST: variable(
    z
      .string()
      .regex(/^[A-Za-z0-9.:_-]+$/)
      .refine((given) => !given.includes(':') || isIP(given) === 6)
      .default('127.0.0.1'),
    'a host name or an address, without a port',
  ),
  PORT: variable(whole(0, 65_535).default(3000), 'a port from 0 to 65535 (0 picks a free one)'),
  WORKERS: variable(
    z.union([z.literal('auto').transform(() => availableParallelism()), whole(1, 64)]).default(1),
    'a whole number of processes from 1 to 64, or auto for one per core',
  ),
  DATA_DIR: variable(z.string().refine(mayBeDirectory).default('.data'), 'a directory'),
  DATABASE_URL: secret(postgresUrl.optional(), 'postgres://user:password@host:port/database'),
  MIGRATE_DATABASE_URL: secret(postgresUrl.optional(), 'postgres://owner:password@host:port/database'),
  DATABASE_LISTEN_URL: secret(postgresUrl.optional(), 'postgres://user:password@host:port/database'),
  DATABASE_POOL: variable(whole(1, 200).default(10), 'a whole number of connections from 1 to 200'),
  DATABASE_PREPARE: variable(onOff.default(true), 'on, or off behind a transaction-mode pooler'),
  BASE_URL: variable(origin.optional(), 'the public origin, for instance https://deals.example.com, without a path'),
  TRUSTED_PROXIES: variable(words.pipe(z.array(network)).default([]), 'a list such as 10.0.0.0/8,fd00::/8'),
  FEATURES: variable(
    words.pipe(z.array(z.enum(['findings', 'financing']))).default([]),
    'a list of: findings, financing',
  ),
  SMTP_URL: secret(urlOf(/^smtps?$/).optional(), 'smtp://user:password@host:port (or smtps://)'),
  MAIL_FROM: variable(
    z.string().refine(isSender).default('Dealkeep <no-reply@localhost>'),
    'an address such as Dealkeep <deals@example.com>',
  ),
  ALLOWED_ORIGINS: variable(
    words.pipe(z.array(origin)).default([]),
    'a list of origins such as https://app.example.com',
  ),
  CLIENT_METADATA: variable(z.enum(['on', 'pinned', 'off']).default('on'), 'on, pinned or off'),
  CLIENT_METADATA_FILE: variable(text, 'a file with a JSON array of client documents'),
  CLIENT_METADATA_ALLOW_LOOPBACK: variable(onOff.default(false), 'on or off'),
  RATE_LIMIT_CLIENT_METADATA: perMinute,
  WEBHOOKS_ALLOW_LOOPBACK: variable(
    onOff.default(false),
    'off, or on in development: webhooks may then go to this machine itself, even by http',
  ),
  REFRESH_OVERLAP: variable(onOff.default(true), 'on or off'),
  REDIS_URL: secret(urlOf(/^rediss?$/).optional(), 'redis://user:password@host:port (or rediss://)'),
  RATE_LIMIT_STORE: variable(z.enum(['memory', 'postgres', 'redis']).optional(), 'memory, postgres or redis'),
  RATE_LIMIT_REST_IP: perMinute,
  RATE_LIMIT_REST_KEY: perMinute,
  RATE_LIMIT_REST_AUTH_FAILURE_IP: perMinute,
  RATE_LIMIT_TOOLS: perMinute,
  RATE_LIMIT_TOOLS_AUTH_FAILURE_IP: perMinute,
  RATE_LIMIT_TOKEN_CLIENT: perMinute,
  RATE_LIMIT_TOKEN_IP: perMinute,
  RATE_LIMIT_TOKEN_FAILURE: perMinute,
  RATE_LIMIT_SIGN_IN_ACCOUNT: perMinute,
  RATE_LIMIT_SIGN_IN_IP: perMinute,
  RATE_LIMIT_SIGN_IN_DEVICE: perMinute,
  RATE_LIMIT_SIGN_IN_SUCCESS: perMinute,
  RATE_LIMIT_AUTHORIZE_IP: perMinute,
  RATE_LIMIT_WEB_PERSON: perMinute,
  RATE_LIMIT_WEB_IP: perMinute,
  REQUESTS_AT_ONCE: variable(whole(1, 10_000).optional(), 'a whole number from 1 to 10000'),
  REQUEST_WAIT_MS: variable(whole(1, 60_000).default(2_000), 'a whole number of milliseconds from 1 to 60000'),
  STREAM_HEARTBEAT_SECONDS: variable(whole(1, 60).default(25), 'a whole number of seconds from 1 to 60'),
  LOG_LEVEL: variable(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    'trace, debug, info, warn, error, fatal or silent',
  ),
  METRICS_TOKEN: secret(z.string().min(16).optional(), 'at least 16 characters'),
  WEB_BUILD: variable(onOff.default(true), 'on, or off to serve the web application as it was built'),
  DRAIN_SECONDS: variable(whole(0, 600).optional(), 'a whole number of seconds from 0 to 600'),
  SHUTDOWN_SECONDS: variable(whole(1, 600).default(10), 'a whole number of seconds from 1 to 600'),
  SECRETS_KEY: secret(
    words.pipe(z.array(z.string().min(32)).min(1)).optional(),
    'one key or several, separated by commas, each of at least 32 characters (openssl rand -base64 32)',
  ),
  S3_ENDPOINT: variable(z.url({ protocol: /^https?$/ }).optional(), 'a URL such as https://s3.example.com'),
  S3_REGION: variable(z.string().min(1).default('us-east-1'), 'the name of a region'),
  S3_BUCKET: variable(
    z
      .string()
      .regex(/^(arn:[\w:/.-]+|[A-Za-z0-9][\w.-]{1,254})$/)
      .optional(),
    'the name of a bucket, without s3:// before it',
  ),
  S3_ACCESS_KEY_ID: secret(text, 'an access key id'),
  S3_SECRET_ACCESS_KEY: secret(text, 'a secret access key'),
  S3_FORCE_PATH_STYLE: variable(onOff.default(false), 'on or off'),
  BROKERAGE_DELETION_DAYS: variable(whole(7, 365).default(30), 'a whole number of days from 7 to 365'),
  BACKUP_TO: variable(backupDestination.optional(), 'a folder, or s3://bucket/folder'),
  BACKUP_EVERY: variable(span.optional(), 'a span of time from 5m to 366d, such as 6h or 1d'),
  BACKUP_KEEP: variable(whole(1, 10_000).optional(), 'a whole number from 1 to 10000'),
  BACKUP_KEY: secret(
    z
      .string()
      .refine((given) => backupKey(given) !== null)
      .optional(),
    '32 random bytes in base64 or hexadecimal, such as: openssl rand -base64 32',
  ),
  OTEL_SDK_DISABLED: variable(
    z
      .string()
      .transform((given) => given.toLowerCase() === 'true')
      .default(false),
    'true or false',
  ),
  OTEL_TRACES_EXPORTER: variable(z.enum(['otlp', 'none']).optional(), 'otlp or none'),
  OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector,
  OTEL_EXPORTER_OTLP_PROTOCOL: otlpProtocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: otlpProtocol,
  OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: otlpHeaders,
  OTEL_EXPORTER_OTLP_TIMEOUT: milliseconds,
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: milliseconds,
  OTEL_SERVICE_NAME: variable(text, 'a name'),
  OTEL_RESOURCE_ATTRIBUTES: variable(text, 'a list such as deployment.environment.name=production'),
  OTEL_TRACES_SAMPLER: variable(z.enum(samplerNames).optional(), samplerNames.join(', ')),
  OTEL_TRACES_SAMPLER_ARG: variable(
    z
      .string()
      .regex(/^(0|1|0?\.\d{1,9}|[01]\.0{1,9})$/)
      .transform(Number)
      .optional(),
    'a number from 0 to 1',
  ),
  OTEL_BSP_SCHEDULE_DELAY: milliseconds,
  OTEL_BSP_MAX_QUEUE_SIZE: variable(whole(1, 65_536).optional(), 'a whole number of spans from 1 to 65536'),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: variable(whole(1, 8_192).optional(), 'a whole number of spans from 1 to 8192'),
};

/** The names of the variables. */
export const variableNames: readonly string[] = Object.keys(variables);
/** The names of variables that hold a secret: NAME_FILE can name a file with the value of each. */
export const secretNames: readonly string[] = Object.entries(variables)
  .filter(([, { secret: hidden }]) => hidden)
  .map(([name]) => name);

type Name = keyof typeof variables;
/** The parsed values of all variables. */
export type Values = { [N in Name]: z.output<(typeof variables)[N]['schema']> };
