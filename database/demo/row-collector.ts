/** Collects the rows of the demo and writes them as the owner, one statement a table. */

import { randomBytes } from 'node:crypto';
import type pg from 'pg';

type Field = string | number | boolean | Date | Buffer | null | readonly string[] | Readonly<Record<string, unknown>>;
export type Row = Readonly<Record<string, Field>>;

/** In this order every row finds the rows that it refers to. */
const tables = [
  'users',
  'vault.passwords',
  'brokerages',
  'members',
  'api_keys',
  'vault.api_key_digests',
  'contacts',
  'connected_clients',
  'tool_grants',
  'deals',
  'participants',
  'deal_opt_ins',
  'ndas',
  'offers',
  'exclusivities',
  'qoe_workspace_members',
  'qoe_checklist',
  'accounting_snapshots',
  'pl_periods',
  'customer_revenues',
  'normalizations',
  'questions',
  'question_answers',
  'documents',
  'production_documents',
  'document_openings',
  'closing_conditions',
  'findings',
  'finding_comments',
  'finding_changes',
  'financing_sources',
  'audit_records',
] as const;
export type Table = (typeof tables)[number];

/** A UUID of version 7 (RFC 9562) as it would have been made at that time: ids keep the order of events. */
function idMadeAt(at: Date): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(at.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

// PostgreSQL reads the rows from JSON, where decimals are strings and bytes are written in hexadecimal.
const asJson = (field: Field): unknown => (Buffer.isBuffer(field) ? `\\x${field.toString('hex')}` : field);

export class RowCollector {
  readonly #rows = new Map<Table, Row[]>();

  /** Keeps a row for a table that has no id. Every row of a table names the same columns. */
  put(table: Table, row: Row): void {
    const rows = this.#rows.get(table);
    if (rows) rows.push(row);
    else this.#rows.set(table, [row]);
  }

  /** Keeps a row that came to be at that time, and gives it an id. */
  add(table: Table, at: Date, row: Row): string {
    const id = idMadeAt(at);
    this.put(table, { id, ...row });
    return id;
  }

  async write(owner: pg.ClientBase): Promise<void> {
    for (const table of tables) {
      const rows = this.#rows.get(table) ?? [];
      const [first] = rows;
      if (!first) continue;
      const columns = Object.keys(first).join(', ');
      if (rows.some((row) => Object.keys(row).join(', ') !== columns)) throw new Error(`${table}: rows differ`);
      const json = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, of]) => [name, asJson(of)])));
      if (table === 'finding_changes') {
        // Recording the findings has already written a change down, as of now; their history is the true one.
        const findings = rows.map((row) => row['finding_id']);
        await owner.query('delete from finding_changes where finding_id = any ($1)', [findings]);
      }
      await owner.query(
        `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(json)],
      );
    }
  }
}
