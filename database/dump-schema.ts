/** Writes the schema of a database from its catalogue, in a readable order: `database/schema.sql`. */

import path from 'node:path';
import type pg from 'pg';

/** Path of the schema file. */
export const schemaFile = path.join(import.meta.dirname, 'schema.sql');

const introduction = `-- The schema that database/migrations make, for reading and for reviewing: written by \`npm run schema\`, never by hand, and
-- run by nobody. Each table has its constraints, indexes, policies, triggers and rights beside it; functions follow by name.
-- CURRENT_USER in a policy is the owner of the database.
`;

/** The oids of our schemas; objects of PostgreSQL's own extensions are in `extensions`. */
const ours = `(select oid from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'extensions'))`;

// Each query returns one row per object, with its statements. Grants are listed for every role but the owner; an object
// without an ACL in the catalogue has PostgreSQL's default privileges.
const schemas = `
  select concat_ws(E'\\n',
    case when n.nspname <> 'public' then format('CREATE SCHEMA %I;', n.nspname) end,
    (select string_agg(format('GRANT %s ON SCHEMA %I TO %s;', privileges, n.nspname, grantee), E'\\n' order by grantee) from (
      select case when a.grantee = 0 then 'PUBLIC' else quote_ident(r.rolname) end as grantee,
        string_agg(a.privilege_type, ', ' order by a.privilege_type) as privileges
      from aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a left join pg_roles r on r.oid = a.grantee
      where a.grantee <> n.nspowner and r.rolname is distinct from 'pg_database_owner' group by 1) given))
  from pg_namespace n where n.oid in ${ours} order by n.nspname collate "C"`;

// Privileges on objects that the owner creates in future.
const defaults = `
  select format('ALTER DEFAULT PRIVILEGES %sGRANT %s ON %s TO %s;', 'IN SCHEMA ' || nullif(d.defaclnamespace, 0)::regnamespace || ' ',
      a.privilege_type, case d.defaclobjtype when 'f' then 'FUNCTIONS' when 'r' then 'TABLES' when 'S' then 'SEQUENCES'
      when 'T' then 'TYPES' else 'SCHEMAS' end,
      case when a.grantee = d.defaclrole then 'CURRENT_USER' when a.grantee = 0 then 'PUBLIC' else quote_ident(r.rolname) end)
  from pg_default_acl d, aclexplode(d.defaclacl) a left join pg_roles r on r.oid = a.grantee
  order by 1`;

const types = `
  select case t.typtype
    when 'e' then format('CREATE TYPE %s AS ENUM (%s);', format_type(t.oid, null),
      (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
    when 'd' then format('CREATE DOMAIN %s AS %s%s%s;', format_type(t.oid, null), format_type(t.typbasetype, t.typtypmod),
      case when t.typnotnull then ' NOT NULL' end,
      (select string_agg(format(' CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid, true)), '' order by k.conname)
        from pg_constraint k where k.contypid = t.oid and k.contype <> 'n'))
    else format('CREATE TYPE %s AS (%s);', format_type(t.oid, null),
      (select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
        from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0))
    end
  from pg_type t left join pg_class c on c.oid = t.typrelid
  where t.typnamespace in ${ours} and (t.typtype in ('e', 'd') or c.relkind = 'c')
  order by format_type(t.oid, null) collate "C"`;

/** The grants on `c`, one line per role: first those on the whole object, then those on columns. */
const rights = `(
  select string_agg(format('GRANT %s ON %s TO %s;', given.privileges, c.oid::regclass, given.grantee), E'\\n' order by given.grantee)
  from (
    select grantee, string_agg(privilege, ', ' order by privilege collate "C") as privileges
    from (
      select case when a.grantee = 0 then 'PUBLIC' else r.rolname::text end as grantee, a.privilege_type as privilege
        from aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
        where a.grantee <> c.relowner
      union all
      select case when a.grantee = 0 then 'PUBLIC' else r.rolname::text end,
          format('%s (%s)', a.privilege_type, string_agg(quote_ident(t.attname), ', ' order by t.attnum))
        from pg_attribute t, aclexplode(t.attacl) a left join pg_roles r on r.oid = a.grantee
        where t.attrelid = c.oid and a.grantee <> c.relowner
        group by a.grantee, r.rolname, a.privilege_type) each
    group by grantee) given)`;

const tables = `
  select concat_ws(E'\\n',
    format(E'CREATE %sTABLE %s (\\n%s\\n)%s;', case c.relpersistence when 'u' then 'UNLOGGED ' end, c.oid::regclass, (
      select string_agg('    ' || line, E',\\n' order by part, place, line collate "C") from (
        select 1 as part, a.attnum::int as place, concat(quote_ident(a.attname), ' ', format_type(a.atttypid, a.atttypmod),
            case when a.attcollation <> t.typcollation then ' COLLATE ' || a.attcollation::regcollation end,
            case a.attgenerated when 's' then ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid, true) || ') STORED'
              when 'v' then ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid, true) || ') VIRTUAL'
              else ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid, true) end,
            case a.attidentity when 'a' then ' GENERATED ALWAYS AS IDENTITY' when 'd' then ' GENERATED BY DEFAULT AS IDENTITY' end,
            case when a.attnotnull then ' NOT NULL' end) as line
          from pg_attribute a join pg_type t on t.oid = a.atttypid
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        union all
        select 2, position(k.contype::text in 'puxfct'), format('CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid, true))
          from pg_constraint k where k.conrelid = c.oid and k.contype <> 'n') lines),
      case when c.relkind = 'p' then ' PARTITION BY ' || pg_get_partkeydef(c.oid) end),
    (select string_agg(pg_get_indexdef(i.indexrelid, 0, true) || ';', E'\\n' order by ic.relname collate "C")
      from pg_index i join pg_class ic on ic.oid = i.indexrelid
      where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = c.oid
        and k.contype in ('p', 'u', 'x'))),
    case when c.relrowsecurity then format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY;', c.oid::regclass) end,
    case when c.relforcerowsecurity then format('ALTER TABLE %s FORCE ROW LEVEL SECURITY;', c.oid::regclass) end,
    (select string_agg(concat(format('CREATE POLICY %I ON %s%s%s TO %s', p.polname, c.oid::regclass,
          case when not p.polpermissive then ' AS RESTRICTIVE' end,
          case p.polcmd when 'r' then ' FOR SELECT' when 'a' then ' FOR INSERT' when 'w' then ' FOR UPDATE' when 'd' then ' FOR DELETE' end,
          (select string_agg(case when m.role = c.relowner then 'CURRENT_USER' when m.role = 0 then 'PUBLIC'
              else quote_ident(r.rolname) end, ', ' order by r.rolname)
            from unnest(p.polroles) m (role) left join pg_roles r on r.oid = m.role)),
        E'\\n    USING (' || pg_get_expr(p.polqual, p.polrelid, true) || ')',
        E'\\n    WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid, true) || ')', ';'),
        E'\\n' order by position(p.polcmd::text in '*rawd'), p.polname collate "C")
      from pg_policy p where p.polrelid = c.oid),
    (select string_agg(pg_get_triggerdef(t.oid, true) || ';' || case t.tgenabled when 'O' then '' else
          format(E'\\nALTER TABLE %s %s TRIGGER %I;', c.oid::regclass, case t.tgenabled when 'D' then 'DISABLE'
            when 'A' then 'ENABLE ALWAYS' else 'ENABLE REPLICA' end, t.tgname) end,
        E'\\n' order by t.tgname collate "C")
      from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal),
    ${rights},
    (select format('COMMENT ON TABLE %s IS %L;', c.oid::regclass, d.description) from pg_description d
      where d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid = 0))
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  -- Partitions follow the calendar; they are as what they are parts of.
  where c.relkind in ('r', 'p') and not c.relispartition and n.oid in ${ours}
  order by n.nspname collate "C", c.relname collate "C"`;

const views = `
  select concat_ws(E'\\n',
    format(E'CREATE %sVIEW %s%s AS\\n%s', case c.relkind when 'm' then 'MATERIALIZED ' end, c.oid::regclass,
      ' WITH (' || array_to_string(c.reloptions, ', ') || ')', pg_get_viewdef(c.oid, true)),
    ${rights})
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('v', 'm') and n.oid in ${ours}
  order by n.nspname collate "C", c.relname collate "C"`;

const functions = `
  select concat_ws(E'\\n',
    rtrim(pg_get_functiondef(p.oid), E'\\n') || ';',
    (select string_agg(format('GRANT %s ON FUNCTION %s TO %s;', a.privilege_type, p.oid::regprocedure,
        case when a.grantee = 0 then 'PUBLIC' else quote_ident(r.rolname) end), E'\\n' order by r.rolname)
      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a left join pg_roles r on r.oid = a.grantee
      where a.grantee <> p.proowner))
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.oid in ${ours} and p.prokind <> 'a'
  order by n.nspname collate "C", p.proname collate "C", p.oid::regprocedure::text collate "C"`;

// The allowed moves between states are part of the schema, although they are rows.
const moves = `
  select E'INSERT INTO app.moves (subject, from_state, to_state) VALUES\\n'
    || string_agg(format('    (%L, %L, %L)', m.subject, m.from_state, m.to_state), E',\\n'
      order by m.subject collate "C", m.from_state collate "C", m.to_state collate "C") || ';'
  from app.moves m`;

const extensions = `
  select format('CREATE EXTENSION %I WITH SCHEMA %I;', e.extname, n.nspname)
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace where n.nspname = 'extensions' order by e.extname collate "C"`;

const parts: readonly (readonly [heading: string, query: string])[] = [
  ['Schemas', schemas],
  ['Extensions, in a schema of their own', extensions],
  ['Rights on what is made from now on, in the place of those that PostgreSQL gives', defaults],
  ['Types', types],
  ['Tables', tables],
  ['Views', views],
  ['Moves between states', moves],
  ['Functions', functions],
];

/**
 * Returns the schema of the database as text. The same schema always gives the same text, whatever privileges `client`
 * has on it.
 */
export async function dumpSchema(client: pg.ClientBase): Promise<string> {
  const { rows: before } = await client.query<{ path: string }>(`select current_setting('search_path') as path`);
  // With an empty search path, every name is qualified with its schema.
  await client.query(`select set_config('search_path', '', false)`);
  try {
    let text = introduction;
    for (const [heading, query] of parts) {
      const { rows } = await client.query<[string]>({ text: query, rowMode: 'array' });
      if (rows.length > 0) text += `\n-- ${heading}\n\n${rows.map(([object]) => object).join('\n\n')}\n`;
    }
    return text;
  } finally {
    await client.query(`select set_config('search_path', $1, false)`, [before[0]?.path]);
  }
}

/** The lines of a schema that grant privileges, or those that define triggers. */
export const linesOf = (schema: string, kind: 'GRANT' | 'TRIGGER'): string[] =>
  schema
    .split('\n')
    .filter((line) =>
      kind === 'GRANT'
        ? line.startsWith('GRANT ')
        : /^(CREATE (CONSTRAINT )?TRIGGER|ALTER TABLE .* TRIGGER) /.test(line),
    );
