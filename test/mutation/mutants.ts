/** Every way in which the live catalogue of a database can be weakened, one at a time. */

import pg from 'pg';
import {
  withOtherRoles,
  withoutBranches,
  withoutCalls,
  withoutConditions,
  withoutStatements,
  type Variant,
} from './expression.ts';

export const kinds = [
  'policies',
  'functions behind policies',
  'functions of triggers',
  'other functions',
  'triggers',
  'constraints',
  'switches',
  'grants',
] as const;
export type Kind = (typeof kinds)[number];

export interface Mutant {
  /** Identical in every run on the same catalogue. */
  readonly name: string;
  readonly kind: Kind;
  /** The tables on whose records the mutant may have an effect. */
  readonly tables: readonly string[];
  /** The weakened function, or null. */
  readonly function: string | null;
  /** SQL that weakens the database, and SQL that restores it; both run as the owner. */
  readonly apply: string;
  readonly revert: string;
}

/** Functions that the checks themselves create in the database. */
const helpers = ['enter_as', 'enter_within', 'enter_as_key', 'attempts', 'protect'];
const participantRoles = ['broker', 'seller', 'buyer', 'viewer', 'advisor'];

const quoted = pg.escapeIdentifier;

interface Policy {
  name: string;
  table: string;
  schema: string;
  command: 'r' | 'a' | 'w' | 'd' | '*';
  /** False for a restrictive policy. */
  permissive: boolean;
  using: string | null;
  check: string | null;
}

const commands = { r: 'select', a: 'insert', w: 'update', d: 'delete', '*': 'all' };

function definition({ schema, table, name, command, permissive, using, check }: Policy): string {
  return (
    `create policy ${quoted(name)} on ${schema}.${quoted(table)} as ${permissive ? 'permissive' : 'restrictive'} ` +
    `for ${commands[command]} to dealkeep_server` +
    (using === null ? '' : ` using (${using})`) +
    (check === null ? '' : ` with check (${check})`)
  );
}

async function policies(client: pg.ClientBase): Promise<Policy[]> {
  const { rows } = await client.query<Policy>(`
    select p.polname as name, c.relname as "table", n.nspname as schema, p.polcmd as command, p.polpermissive as permissive,
      pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as "check"
    from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
    where p.polname <> 'as_owner' and n.nspname = 'public' order by 2, 1`);
  return rows;
}

function policyMutants(policy: Policy, tables: readonly string[]): Mutant[] {
  const { table, schema, name } = policy;
  const drop = `drop policy ${quoted(name)} on ${schema}.${quoted(table)}`;
  const mutant = (what: string, other: Policy | null): Mutant => ({
    name: `policy ${table}.${name}: ${what}`,
    kind: 'policies',
    tables,
    function: null,
    apply: other ? `${drop}; ${definition(other)}` : drop,
    revert: `drop policy if exists ${quoted(name)} on ${schema}.${quoted(table)}; ${definition(policy)}`,
  });
  const mutants = [mutant('dropped', null)];
  for (const part of ['using', 'check'] as const) {
    const expression = policy[part];
    const word = part === 'using' ? 'using' : 'with check';
    if (expression === null) {
      // Without a WITH CHECK of its own, an update's new rows are checked against the USING expression of its old rows.
      if (part === 'check' && policy.command === 'w')
        mutants.push(mutant('with check (true)', { ...policy, check: 'true' }));
      continue;
    }
    if (expression !== 'true') mutants.push(mutant(`${word} (true)`, { ...policy, [part]: 'true' }));
    for (const { what, text } of [
      ...withoutConditions(expression),
      ...withOtherRoles(expression, participantRoles.slice(0, 4)),
    ])
      mutants.push(mutant(`${word} ${what}`, { ...policy, [part]: text }));
  }
  return mutants;
}

interface Routine {
  /** Qualified with its schema, unless that is `app`. */
  name: string;
  definition: string;
  /** Empty if the body is in standard SQL: PostgreSQL then prints it only as part of the definition. */
  source: string;
  returns: string;
  language: string;
  definer: boolean;
  granted: boolean;
  signature: string;
}

async function routines(client: pg.ClientBase): Promise<Routine[]> {
  const { rows } = await client.query<Routine>(
    `select case p.pronamespace when 'app'::regnamespace then '' else p.pronamespace::regnamespace || '.' end || p.proname as name,
       pg_get_functiondef(p.oid) as definition, p.prosrc as source, l.lanname as language,
       pg_get_function_result(p.oid) as returns, p.prosecdef as definer,
       has_function_privilege('dealkeep_server', p.oid, 'execute') as granted, p.oid::regprocedure::text as signature
     from pg_proc p join pg_language l on l.oid = p.prolang
     where p.pronamespace in ('app'::regnamespace, 'vault'::regnamespace) and p.prokind = 'f'
       and p.proname <> all ($1) and p.proname <> 'now'
     order by 1, p.oid::regprocedure::text`,
    [helpers],
  );
  return rows;
}

const called = (text: string): string[] =>
  [...text.matchAll(/\b(?:app\.|(vault\.))(\w+)\(/g)].map(([, schema = '', name = '']) => schema + name);

/** Returns a function that finds all functions that a text calls, directly or indirectly. */
function reaching(all: readonly Routine[]): (text: string) => ReadonlySet<string> {
  const calls = new Map<string, string[]>();
  for (const { name, definition: text } of all) calls.set(name, [...(calls.get(name) ?? []), ...called(text)]);
  const known = new Map<string, ReadonlySet<string>>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const reached = new Set<string>();
    const waiting = called(text);
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (reached.has(name)) continue;
      reached.add(name);
      waiting.push(...(calls.get(name) ?? []));
    }
    known.set(text, reached);
    return reached;
  };
}

/** A body that returns every id, or true, for a function that returns ids or a boolean; null for other functions. */
function widened({ name, returns, source }: Routine): Variant | null {
  if (source === '' || returns === 'trigger') return null;
  const table = name.includes('brokerage') ? 'brokerages' : name === 'principals' ? 'participants' : 'deals';
  const answer =
    returns === 'uuid[]'
      ? `(select coalesce(array_agg(id), '{}') from public.${table})`
      : returns === 'boolean'
        ? 'true'
        : null;
  if (answer === null) return null;
  const begin = /\bbegin\n/.exec(source);
  if (!begin) return { what: `answers ${answer}`, text: `select ${answer}` };
  return { what: `answers ${answer}`, text: `${source.slice(0, begin.index)}begin\n  return ${answer};\nend\n` };
}

/** Variants that each omit one part of the sealed text. */
function withoutParts(text: string): Variant[] {
  return [...text.matchAll(/ \|\| ([a-z0-9_]+\([^()]*(?:\([^()]*\))?\)|\w+)/g)].map(
    ({ 0: whole, 1: part = '', index }) => ({
      what: `without ${part}`,
      text: text.slice(0, index) + text.slice(index + whole.length),
    }),
  );
}

function routineMutants(routine: Routine, kind: Kind, tables: readonly string[]): Mutant[] {
  const { name, definition: whole, source } = routine;
  const at = source === '' ? whole.search(/^\s*(RETURN|BEGIN ATOMIC)/m) : whole.lastIndexOf(source);
  const body = source === '' ? whole.slice(at) : source;
  const variants = [
    ...withoutConditions(body),
    ...withOtherRoles(body, participantRoles),
    ...withoutBranches(body),
    ...withoutCalls(body),
    ...(routine.returns === 'trigger' ? withoutStatements(body) : []),
    ...(name === 'seal_of' ? withoutParts(body) : []),
  ];
  const wide = widened(routine);
  if (wide) variants.push(wide);
  return variants.map(({ what, text }) => ({
    name: `function ${name}: ${what}`,
    kind,
    tables,
    function: name,
    apply: whole.slice(0, at) + text + whole.slice(at + body.length),
    revert: whole,
  }));
}

async function triggers(client: pg.ClientBase): Promise<Mutant[]> {
  const { rows } = await client.query<{ name: string; table: string; of: string; text: string; function: string }>(`
    select t.tgname as name, c.relname as "table", t.tgrelid::regclass::text as of, pg_get_triggerdef(t.oid) as text,
      p.proname as function
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and c.relnamespace in ('public'::regnamespace, 'vault'::regnamespace) order by 2, 1`);
  return rows.map(({ name, table, of, text, function: called_ }) => ({
    name: `trigger ${table}.${name} (${called_}): dropped`,
    kind: 'triggers',
    tables: [table],
    function: called_,
    apply: `drop trigger ${quoted(name)} on ${of}`,
    revert: text,
  }));
}

/** Mutants that drop references within a deal, checks across columns, or unique constraints and indexes. */
async function constraints(client: pg.ClientBase): Promise<Mutant[]> {
  const { rows } = await client.query<{ name: string; table: string; text: string }>(`
    select k.conname as name, c.relname as "table", pg_get_constraintdef(k.oid) as text
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = 'public'::regnamespace and cardinality(k.conkey) > 1 and k.contype in ('f', 'c', 'u') order by 2, 1`);
  const indexes = await client.query<{ name: string; table: string; text: string }>(`
    select i.relname as name, c.relname as "table", pg_get_indexdef(x.indexrelid) as text
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
    where c.relnamespace = 'public'::regnamespace and x.indisunique
      and not exists (select from pg_constraint k where k.conindid = x.indexrelid) order by 2, 1`);
  return [
    ...rows.map(({ name, table, text }) => ({
      name: `constraint ${table}.${name}: dropped`,
      kind: 'constraints' as const,
      tables: [table],
      function: null,
      apply: `alter table ${quoted(table)} drop constraint ${quoted(name)}`,
      revert: `alter table ${quoted(table)} add constraint ${quoted(name)} ${text}`,
    })),
    ...indexes.rows.map(({ name, table, text }) => ({
      name: `unique index ${table}.${name}: dropped`,
      kind: 'constraints' as const,
      tables: [table],
      function: null,
      apply: `drop index ${quoted(name)}`,
      revert: text,
    })),
  ];
}

interface Table {
  schema: string;
  table: string;
  /** SQL that grants the server exactly its current rights. */
  rights: string;
  missing: string[];
}

async function everyTableOf(client: pg.ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    select n.nspname as schema, c.relname as "table",
      coalesce((select string_agg(format('grant %s on %I.%I to dealkeep_server;', a.privilege_type, n.nspname, c.relname), ' ')
        from aclexplode(c.relacl) a where a.grantee = 'dealkeep_server'::regrole), '') || ' ' ||
      coalesce((select string_agg(format('grant %s (%I) on %I.%I to dealkeep_server;', a.privilege_type, t.attname, n.nspname, c.relname), ' ')
        from pg_attribute t, aclexplode(t.attacl) a
        where t.attrelid = c.oid and a.grantee = 'dealkeep_server'::regrole), '') as rights,
      (select array_agg(r) from unnest('{select,insert,update,delete}'::text[]) r
        where not has_table_privilege('dealkeep_server', c.oid, r)) as missing
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname in ('public', 'vault') order by 1, 2`);
  return rows;
}

function switchMutants({ schema, table }: Table): Mutant[] {
  const of = `${schema}.${quoted(table)}`;
  return [
    ['not forced', 'no force', 'force'],
    ['off', 'disable', 'enable'],
  ].map(([what, off, on]) => ({
    name: `row-level security of ${schema}.${table}: ${what}`,
    kind: 'switches' as const,
    tables: [table],
    function: null,
    apply: `alter table ${of} ${off} row level security`,
    revert: `alter table ${of} ${on} row level security`,
  }));
}

function grantMutants({ schema, table, rights, missing }: Table): Mutant[] {
  const of = `${schema}.${quoted(table)}`;
  const asVault = schema === 'vault' ? 'grant usage on schema vault to dealkeep_server; ' : '';
  return (schema === 'vault' ? missing.filter((right) => right === 'select') : missing).map((right) => ({
    name: `grant ${right} on ${schema}.${table}`,
    kind: 'grants' as const,
    tables: [table],
    function: null,
    apply: `${asVault}grant ${right} on ${of} to dealkeep_server`,
    revert:
      `revoke all on ${of} from dealkeep_server; ${rights}` +
      (schema === 'vault' ? 'revoke usage on schema vault from dealkeep_server' : ''),
  }));
}

/** All mutants of the database, in a stable order. */
export async function mutantsOf(client: pg.ClientBase): Promise<Mutant[]> {
  const [of, all, everyTable] = [await policies(client), await routines(client), await everyTableOf(client)];
  const texts = of.map((policy) => [policy.table, `${policy.using ?? ''} ${policy.check ?? ''}`] as const);
  const reachedFrom = reaching(all);
  const behindPolicies = new Set(texts.flatMap(([, text]) => [...reachedFrom(text)]));
  const showsOn = (name: string) => [
    ...new Set(texts.filter(([, text]) => reachedFrom(text).has(name)).map(([table]) => table)),
  ];
  const kindOf = ({ name, returns }: Routine): Kind =>
    returns === 'trigger'
      ? 'functions of triggers'
      : behindPolicies.has(name)
        ? 'functions behind policies'
        : 'other functions';
  const whole = texts.map(
    ([table, text]) =>
      [
        table,
        [text, ...all.filter(({ name }) => reachedFrom(text).has(name)).map((r) => r.definition)].join('\n'),
      ] as const,
  );
  // The table itself, and the tables whose policies read it, directly or indirectly.
  const lookingAt = (table: string) => {
    const word = new RegExp(`\\b${table}\\b`);
    return [table, ...new Set(whole.filter(([, text]) => word.test(text)).map(([other]) => other))];
  };
  const found = [
    ...of.flatMap((policy) => policyMutants(policy, lookingAt(policy.table))),
    ...all.flatMap((routine) => routineMutants(routine, kindOf(routine), showsOn(routine.name))),
    ...(await triggers(client)),
    ...(await constraints(client)),
    ...everyTable.flatMap(switchMutants),
    ...everyTable.flatMap(grantMutants),
    ...all
      .filter(({ granted, returns }) => !granted && returns !== 'trigger')
      .map(({ signature, name }) => ({
        name: `grant execute on ${signature}`,
        kind: 'grants' as const,
        tables: [],
        function: name,
        apply: `grant execute on function ${signature} to dealkeep_server`,
        revert: `revoke execute on function ${signature} from dealkeep_server`,
      })),
  ];
  // Mutants with the same SQL are one mutant; different mutants with the same name are numbered.
  const seen = new Set<string>();
  const names = new Map<string, number>();
  return found
    .filter(({ apply }) => !seen.has(apply) && seen.add(apply))
    .map((mutant) => {
      const times = (names.get(mutant.name) ?? 0) + 1;
      names.set(mutant.name, times);
      return times === 1 ? mutant : { ...mutant, name: `${mutant.name} (${times})` };
    });
}

/** A digest of everything that a mutant can change: equal before a mutant is applied and after it is reverted. */
export async function fingerprint(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ digest: string }>(`
    select md5(string_agg(line, E'\\n' order by line)) as digest from (
      select format('%s %s %s %s %s %s', polrelid::regclass, polname, polcmd, polpermissive, pg_get_expr(polqual, polrelid),
        pg_get_expr(polwithcheck, polrelid)) as line from pg_policy
      union all select pg_get_functiondef(oid) || has_function_privilege('dealkeep_server', oid, 'execute')::text
        from pg_proc where pronamespace in ('app'::regnamespace, 'vault'::regnamespace) and prokind = 'f'
      union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
      union all select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
      union all select pg_get_indexdef(indexrelid) from pg_index where indrelid > 16384
      union all select format('%s %s %s', oid::regclass, relrowsecurity, relforcerowsecurity) from pg_class where relkind = 'r'
      union all select format('%s %s', c.oid::regclass, a) from pg_class c, aclexplode(c.relacl) a where c.oid > 16384
      union all select format('%s %s %s', t.attrelid::regclass, t.attname, a) from pg_attribute t, aclexplode(t.attacl) a
        where t.attrelid > 16384
      union all select format('%s %s', nspname, a) from pg_namespace, aclexplode(nspacl) a
    ) lines`);
  return rows[0]!.digest;
}
