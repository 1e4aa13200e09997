/** The configuration: read once at start from environment variables, validated, and never changed after. */

import { isIP } from 'node:net';
import path from 'node:path';
import { backupKey, type BackupKey } from '../lib/backup-key.ts';
import { withoutPassword } from '../lib/without-password.ts';
import { secretNames, variableNames, variables, type Values } from './variables.ts';
import { misspelt, withSecretFiles, type Environment } from './environment.ts';
import { tracingOf, type TracingConfig } from './tracing.ts';

/** The parameters of new password hashes in every service: those that OWASP recommends. Stored hashes keep theirs until the next sign-in. */
export const recommendedParameters = '$argon2id$v=19$m=19456,t=2,p=1';

/** Requests a minute, by what is counted; see server/http/limits.ts. */
export interface Ceilings {
  readonly rest_ip: number;
  readonly rest_key: number;
  readonly rest_auth_failure_ip: number;
  readonly tools: number;
  readonly tools_auth_failure_ip: number;
  readonly token_client: number;
  readonly token_ip: number;
  readonly token_failure: number;
  readonly sign_in_account: number;
  readonly sign_in_ip: number;
  readonly sign_in_device: number;
  readonly sign_in_success: number;
  readonly authorize_ip: number;
  readonly client_metadata: number;
  readonly web_person: number;
  readonly web_ip: number;
}

/** What is counted. */
export type LimitKind = keyof Ceilings;

/** An S3-compatible store for the bodies of documents. */
export interface S3Config {
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
  readonly forcePathStyle: boolean;
}

/** Where backups are kept: a bucket, with what reaches it, or a folder. */
export type DestinationConfig =
  | { readonly directory: string }
  | { readonly s3: S3Config; /** Empty, or with a slash at its end. */ readonly prefix: string };

export interface Config {
  readonly host: string;
  readonly port: number;
  /** How many processes answer requests; with more than one, another holds them together. */
  readonly workers: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Not set: the embedded PostgreSQL under dataDir. */
  readonly databaseUrl: string | undefined;
  readonly migrateDatabaseUrl: string | undefined;
  /** Where the service listens to changes (LISTEN); not set: at databaseUrl. */
  readonly listenDatabaseUrl: string | undefined;
  readonly poolSize: number;
  /** False behind a transaction-mode pooler. */
  readonly prepare: boolean;
  /** Our public origin, without a slash at the end. */
  readonly baseUrl: string;
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Clients that say who they are by a document at an address of theirs. */
  readonly clientMetadata: {
    /** pinned: those of `file` alone. */
    readonly mode: Values['CLIENT_METADATA'];
    /** Documents that are not fetched: an array, as JSON. */
    readonly file: string | undefined;
    /** For development and tests alone: whether they may be on this machine, and the certificate authority to trust. */
    readonly guard: { readonly allowLoopback: boolean; readonly ca?: string };
  };
  /** Whether webhooks may go to addresses of this machine, also by http: for development alone. */
  readonly webhooksAllowLoopback: boolean;
  readonly features: { readonly findings: boolean; readonly financing: boolean };
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  /** Origins of other sites whose pages may call the interfaces that allow it. */
  readonly allowedOrigins: readonly string[];
  /** For how many milliseconds overlapping refreshes of one token share a successor; 0: never. */
  readonly refreshOverlapMillis: number;
  /** Redis or Valkey. */
  readonly redisUrl: string | undefined;
  readonly rateLimitStore: 'memory' | 'postgres' | 'redis';
  readonly rateLimits: Ceilings;
  /** How many requests are answered at once, and how long others wait for their turn. */
  readonly load: { readonly atOnce: number; readonly waitMillis: number };
  /** The parameters of new hashes of passwords. No variable sets them: only what tests something else takes less. */
  readonly passwordParameters: string;
  /** How often an open stream is checked and gets a heartbeat. */
  readonly streamHeartbeatSeconds: number;
  readonly logLevel: Values['LOG_LEVEL'];
  readonly metricsToken: string | undefined;
  /** Whether a start builds the web application when its sources are newer. */
  readonly buildWeb: boolean;
  /** How long a node that was asked to end by SIGTERM still answers, so that load balancers notice. */
  readonly drainSeconds: number;
  /** How long a stop waits for requests in flight. */
  readonly shutdownSeconds: number;
  readonly s3: S3Config | undefined;
  /** The keys with which secrets in the database are encrypted, the first, and decrypted, all; none: they are not. */
  readonly secretsKeys: readonly string[];
  /** How many days after it was asked for in the settings a brokerage is deleted. */
  readonly brokerageDeletionDays: number;
  readonly backup: {
    readonly to: DestinationConfig | undefined;
    /** How often the service makes one, in milliseconds. */
    readonly everyMillis: number | undefined;
    /** How many are kept; undefined where nobody has said. */
    readonly keep: number | undefined;
    readonly key: BackupKey | null;
  };
  /** Undefined: no traces are made. */
  readonly tracing: TracingConfig | undefined;
}

/** The configuration cannot be used; `message` has one line for each fault. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(['The configuration cannot be used:', ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}

/** What a variable holds, on one line and without a password. */
const shown = (held = ''): string => withoutPassword(held).replaceAll(/\r?\n/g, '\\n');

function readValues(given: Environment): Values {
  const { env, faults: unread } = withSecretFiles(given, secretNames);
  const faults = [...misspelt(given, [...variableNames, ...secretNames.map((name) => `${name}_FILE`)]), ...unread];
  const values = Object.entries(variables).map(([name, { schema, allowed, secret: hidden }]) => {
    const held = env[name] === '' ? undefined : env[name];
    const result = schema.safeParse(held);
    if (!result.success) {
      faults.push(`${name} ${hidden ? 'is not valid' : `holds "${shown(held)}"`}; it must be ${allowed}.`);
    }
    return [name, result.data];
  });
  if (env['MIGRATE_DATABASE_URL'] && !env['DATABASE_URL']) {
    faults.push('MIGRATE_DATABASE_URL is set without DATABASE_URL; set both, or neither for the embedded PostgreSQL.');
  }
  if (env['DATABASE_LISTEN_URL'] && !env['DATABASE_URL']) {
    faults.push('DATABASE_LISTEN_URL is set without DATABASE_URL; it is for a DATABASE_URL that leads to a pooler.');
  }
  if (env['RATE_LIMIT_STORE'] === 'redis' && !env['REDIS_URL']) {
    faults.push('RATE_LIMIT_STORE is redis without REDIS_URL; set where Redis is.');
  }
  if (!env['S3_ACCESS_KEY_ID'] !== !env['S3_SECRET_ACCESS_KEY']) {
    const [set, missing] = env['S3_ACCESS_KEY_ID']
      ? ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']
      : ['S3_SECRET_ACCESS_KEY', 'S3_ACCESS_KEY_ID'];
    faults.push(`${set} is set without ${missing}; set both, or neither, and those of the machine are used.`);
  }
  if (env['CLIENT_METADATA'] === 'pinned' && !env['CLIENT_METADATA_FILE']) {
    faults.push('CLIENT_METADATA is pinned without CLIENT_METADATA_FILE; set the file, or CLIENT_METADATA to off.');
  }
  if (env['BACKUP_EVERY'] && !env['BACKUP_TO']) {
    faults.push('BACKUP_EVERY is set without BACKUP_TO; set where backups are kept.');
  }
  if (env['BACKUP_EVERY'] && env['DATABASE_URL'] && !env['MIGRATE_DATABASE_URL']) {
    faults.push(
      'BACKUP_EVERY is set without MIGRATE_DATABASE_URL; only the owner reads every row. Set it too, or run dealkeep backup elsewhere.',
    );
  }
  const { WORKERS: workers } = Object.fromEntries(values) as Partial<Values>;
  if (env['RATE_LIMIT_STORE'] === 'memory' && workers !== undefined && workers > 1) {
    faults.push(
      `RATE_LIMIT_STORE is memory with WORKERS=${env['WORKERS']}: each of ${workers} processes would count for itself. Leave it out, or set postgres or redis.`,
    );
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.fromEntries(values) as Values;
}

function tracing(values: Values): TracingConfig | undefined {
  const faults: string[] = [];
  const read = tracingOf(values, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  return read;
}

/** The origin under which `host` and `port` are reached from this machine. */
function localOrigin(host: string, port: number): string {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`;
}

/** The configuration once `chosen` is listened on: with PORT=0 the system chose the port, and with it our address. */
export function settled(config: Config, chosen: number): Config {
  const { host, port, baseUrl } = config;
  return port === 0 && baseUrl === localOrigin(host, 0) ? { ...config, baseUrl: localOrigin(host, chosen) } : config;
}

/** Where requests are counted unless RATE_LIMIT_STORE says it. */
function sharedStore({ REDIS_URL, DATABASE_URL, WORKERS }: Values): Config['rateLimitStore'] {
  if (REDIS_URL) return 'redis';
  return DATABASE_URL || WORKERS > 1 ? 'postgres' : 'memory';
}

type S3Values = Pick<
  Values,
  'S3_ENDPOINT' | 'S3_REGION' | 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY' | 'S3_FORCE_PATH_STYLE'
>;

/** A bucket, reached as S3_ENDPOINT and its like say. */
const bucketOf = (values: S3Values, bucket: string): S3Config => ({
  endpoint: values.S3_ENDPOINT,
  region: values.S3_REGION,
  bucket,
  accessKeyId: values.S3_ACCESS_KEY_ID,
  secretAccessKey: values.S3_SECRET_ACCESS_KEY,
  forcePathStyle: values.S3_FORCE_PATH_STYLE,
});

function destinationConfig(values: S3Values, given: string): DestinationConfig {
  const [, bucket, folder = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(given) ?? [];
  if (bucket === undefined) return { directory: path.resolve(given) };
  return { s3: bucketOf(values, bucket), prefix: folder === '' ? '' : `${folder}/` };
}

/** Reads the environment. Throws a {@link ConfigError} that lists every fault: the variable, what it held, what is allowed. */
export function readConfig(env: Environment = process.env): Config {
  const values = readValues(env);
  return {
    host: values.HOST,
    port: values.PORT,
    workers: values.WORKERS,
    dataDir: path.resolve(values.DATA_DIR),
    databaseUrl: values.DATABASE_URL,
    migrateDatabaseUrl: values.MIGRATE_DATABASE_URL,
    listenDatabaseUrl: values.DATABASE_LISTEN_URL,
    poolSize: values.DATABASE_POOL,
    prepare: values.DATABASE_PREPARE,
    baseUrl: values.BASE_URL ?? localOrigin(values.HOST, values.PORT),
    trustedProxies: values.TRUSTED_PROXIES,
    features: { findings: values.FEATURES.includes('findings'), financing: values.FEATURES.includes('financing') },
    smtpUrl: values.SMTP_URL,
    mailFrom: values.MAIL_FROM,
    allowedOrigins: values.ALLOWED_ORIGINS,
    clientMetadata: {
      mode: values.CLIENT_METADATA,
      file: values.CLIENT_METADATA_FILE,
      guard: { allowLoopback: values.CLIENT_METADATA_ALLOW_LOOPBACK },
    },
    webhooksAllowLoopback: values.WEBHOOKS_ALLOW_LOOPBACK,
    refreshOverlapMillis: values.REFRESH_OVERLAP ? 2_000 : 0,
    redisUrl: values.REDIS_URL,
    rateLimitStore: values.RATE_LIMIT_STORE ?? sharedStore(values),
    rateLimits: {
      rest_ip: values.RATE_LIMIT_REST_IP ?? 1200,
      rest_key: values.RATE_LIMIT_REST_KEY ?? 600,
      rest_auth_failure_ip: values.RATE_LIMIT_REST_AUTH_FAILURE_IP ?? 30,
      tools: values.RATE_LIMIT_TOOLS ?? 300,
      tools_auth_failure_ip: values.RATE_LIMIT_TOOLS_AUTH_FAILURE_IP ?? 600,
      token_client: values.RATE_LIMIT_TOKEN_CLIENT ?? 240,
      token_ip: values.RATE_LIMIT_TOKEN_IP ?? 600,
      token_failure: values.RATE_LIMIT_TOKEN_FAILURE ?? 240,
      sign_in_account: values.RATE_LIMIT_SIGN_IN_ACCOUNT ?? 10,
      sign_in_ip: values.RATE_LIMIT_SIGN_IN_IP ?? 60,
      sign_in_device: values.RATE_LIMIT_SIGN_IN_DEVICE ?? 10,
      sign_in_success: values.RATE_LIMIT_SIGN_IN_SUCCESS ?? 60,
      authorize_ip: values.RATE_LIMIT_AUTHORIZE_IP ?? 300,
      client_metadata: values.RATE_LIMIT_CLIENT_METADATA ?? 20,
      web_person: values.RATE_LIMIT_WEB_PERSON ?? 1_200,
      web_ip: values.RATE_LIMIT_WEB_IP ?? 12_000,
    },
    load: {
      // Enough to keep every connection to the database at work while others are read and written.
      atOnce: values.REQUESTS_AT_ONCE ?? Math.max(32, 4 * values.DATABASE_POOL),
      waitMillis: values.REQUEST_WAIT_MS,
    },
    passwordParameters: recommendedParameters,
    streamHeartbeatSeconds: values.STREAM_HEARTBEAT_SECONDS,
    logLevel: values.LOG_LEVEL,
    metricsToken: values.METRICS_TOKEN,
    buildWeb: values.WEB_BUILD,
    drainSeconds: values.DRAIN_SECONDS ?? (values.DATABASE_URL ? 5 : 0),
    shutdownSeconds: values.SHUTDOWN_SECONDS,
    secretsKeys: values.SECRETS_KEY ?? [],
    s3: values.S3_BUCKET ? bucketOf(values, values.S3_BUCKET) : undefined,
    brokerageDeletionDays: values.BROKERAGE_DELETION_DAYS,
    backup: {
      to: values.BACKUP_TO === undefined ? undefined : destinationConfig(values, values.BACKUP_TO),
      everyMillis: values.BACKUP_EVERY,
      keep: values.BACKUP_KEEP,
      key: values.BACKUP_KEY === undefined ? null : backupKey(values.BACKUP_KEY),
    },
    tracing: tracing(values),
  };
}
