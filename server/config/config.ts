/** The configuration: read from environment variables once at start, validated, and never changed afterwards. */

import { isIP } from 'node:net';
import path from 'node:path';
import { backupKey, type BackupKey } from '../lib/backup-key.ts';
import { withoutPassword } from '../lib/without-password.ts';
import { secretNames, variableNames, variables, type Values } from './variables.ts';
import { misspelt, withSecretFiles, type Environment } from './environment.ts';
import { tracingOf, type TracingConfig } from './tracing.ts';

/**
 * The parameters of new password hashes in every service, as recommended by OWASP. Stored hashes keep their parameters
 * until the next sign-in.
 */
export const recommendedParameters = '$argon2id$v=19$m=19456,t=2,p=1';

/** Limits in requests per minute; see server/http/limits.ts. */
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

/** The name of a rate limit. */
export type LimitKind = keyof Ceilings;

/** An S3-compatible object store for document bodies. */
export interface S3Config {
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
  readonly forcePathStyle: boolean;
}

/** Where backups are kept: in a bucket, with the credentials to reach it, or in a folder. */
export type DestinationConfig =
  | { readonly directory: string }
  | { readonly s3: S3Config; /** Empty, or ends with a slash. */ readonly prefix: string };

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Number of processes that answer requests; with more than one, a separate process supervises them. */
  readonly workers: number;
  /** An absolute path. */
  readonly dataDir: string;
  /** Undefined: the embedded PostgreSQL under `dataDir` is used. */
  readonly databaseUrl: string | undefined;
  readonly migrateDatabaseUrl: string | undefined;
  /** The database on which the service listens for changes (LISTEN); undefined: `databaseUrl`. */
  readonly listenDatabaseUrl: string | undefined;
  readonly poolSize: number;
  /** False behind a transaction-mode pooler. */
  readonly prepare: boolean;
  /** The public origin of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Addresses and CIDR ranges whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** OAuth clients that are identified by a metadata document at a URL of their own. */
  readonly clientMetadata: {
    /** pinned: only the clients in `file` are accepted. */
    readonly mode: Values['CLIENT_METADATA'];
    /** File of metadata documents that are not fetched: a JSON array. */
    readonly file: string | undefined;
    /**
     * For development and tests only: whether the documents may be on this machine, and the certificate authority to
     * trust.
     */
    readonly guard: { readonly allowLoopback: boolean; readonly ca?: string };
  };
  /** Whether webhooks may go to addresses of this machine, and by http: for development only. */
  readonly webhooksAllowLoopback: boolean;
  readonly features: { readonly findings: boolean; readonly financing: boolean };
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  /** Origins of other sites whose pages may call the interfaces that allow it. */
  readonly allowedOrigins: readonly string[];
  /** Milliseconds within which overlapping refreshes of one token get the same successor; 0: never. */
  readonly refreshOverlapMillis: number;
  /** Redis or Valkey. */
  readonly redisUrl: string | undefined;
  readonly rateLimitStore: 'memory' | 'postgres' | 'redis';
  readonly rateLimits: Ceilings;
  /** Maximum number of concurrent requests, and milliseconds that further requests wait for their turn. */
  readonly load: { readonly atOnce: number; readonly waitMillis: number };
  /** The parameters of new password hashes. No variable sets them; only tests of something else use cheaper ones. */
  readonly passwordParameters: string;
  /** Seconds between two checks of an open stream, each with a heartbeat. */
  readonly streamHeartbeatSeconds: number;
  readonly logLevel: Values['LOG_LEVEL'];
  readonly metricsToken: string | undefined;
  /** Whether the web application is built at start when its sources are newer. */
  readonly buildWeb: boolean;
  /** Seconds for which a node keeps answering after SIGTERM, so that load balancers notice. */
  readonly drainSeconds: number;
  /** Seconds for which shutdown waits for requests in flight. */
  readonly shutdownSeconds: number;
  readonly s3: S3Config | undefined;
  /**
   * Keys for secrets in the database: the first one encrypts, all of them decrypt. Empty: secrets are not encrypted.
   */
  readonly secretsKeys: readonly string[];
  /** Days between the request to delete a brokerage, made in the settings, and its deletion. */
  readonly brokerageDeletionDays: number;
  readonly backup: {
    readonly to: DestinationConfig | undefined;
    /** Milliseconds between two backups that the service makes. */
    readonly everyMillis: number | undefined;
    /** Number of backups to keep; undefined when not configured. */
    readonly keep: number | undefined;
    readonly key: BackupKey | null;
  };
  /** Undefined: no traces are recorded. */
  readonly tracing: TracingConfig | undefined;
}

/** The configuration is invalid; `message` has one line for each error. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(['The configuration cannot be used:', ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}

/** The value of a variable, on one line and without a password. */
const shown = (held = ''): string => withoutPassword(held).replaceAll(/\r?\n/g, '\\n');

function readValues(given: Environment): Values {
  const { env, faults: unread } = withSecretFiles(given, secretNames);
  const faults = [...misspelt(env, [...variableNames, ...secretNames.map((name) => `${name}_FILE`)]), ...unread];
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
    faults.push('RATE_LIMIT_STORE is redis without REDIS_URL; set REDIS_URL to the address of Redis.');
  }
  if (!env['S3_ACCESS_KEY_ID'] !== !env['S3_SECRET_ACCESS_KEY']) {
    const [set, missing] = env['S3_ACCESS_KEY_ID']
      ? ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']
      : ['S3_SECRET_ACCESS_KEY', 'S3_ACCESS_KEY_ID'];
    faults.push(`${set} is set without ${missing}; set both, or neither to use the credentials of the machine.`);
  }
  if (env['CLIENT_METADATA'] === 'pinned' && !env['CLIENT_METADATA_FILE']) {
    faults.push('CLIENT_METADATA is pinned without CLIENT_METADATA_FILE; set the file, or CLIENT_METADATA to off.');
  }
  if (env['BACKUP_EVERY'] && !env['BACKUP_TO']) {
    faults.push('BACKUP_EVERY is set without BACKUP_TO; set BACKUP_TO to where backups are kept.');
  }
  if (env['BACKUP_EVERY'] && env['DATABASE_URL'] && !env['MIGRATE_DATABASE_URL']) {
    faults.push(
      'BACKUP_EVERY is set without MIGRATE_DATABASE_URL; only the owner reads every row. Set it too, or run dealkeep backup elsewhere.',
    );
  }
  const { WORKERS: workers } = Object.fromEntries(values) as Partial<Values>;
  if (env['RATE_LIMIT_STORE'] === 'memory' && workers !== undefined && workers > 1) {
    faults.push(
      `RATE_LIMIT_STORE is memory with WORKERS=${env['WORKERS']}: each of ${workers} processes would count on its own. Leave it out, or set it to postgres or redis.`,
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

/**
 * The configuration once the service listens on port `chosen`: with PORT=0 the system chooses the port, and the default
 * base URL follows from it.
 */
export function settled(config: Config, chosen: number): Config {
  const { host, port, baseUrl } = config;
  return port === 0 && baseUrl === localOrigin(host, 0) ? { ...config, baseUrl: localOrigin(host, chosen) } : config;
}

/** Where requests are counted when RATE_LIMIT_STORE is not set. */
function sharedStore({ REDIS_URL, DATABASE_URL, WORKERS }: Values): Config['rateLimitStore'] {
  if (REDIS_URL) return 'redis';
  return DATABASE_URL || WORKERS > 1 ? 'postgres' : 'memory';
}

type S3Values = Pick<
  Values,
  'S3_ENDPOINT' | 'S3_REGION' | 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY' | 'S3_FORCE_PATH_STYLE'
>;

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

/**
 * Reads the environment. Throws a {@link ConfigError} that lists every error: the variable, its value and the allowed
 * values.
 */
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
      // Enough to keep every database connection busy while other requests are being read or written.
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
