/** Collects the rows of the demo and inserts them as the owner, with one statement per table. */

import type pg from 'pg';
import { uuidAt } from '../../server/database/uuid.ts';

type Field = string | number | boolean | Date | Buffer | null | readonly string[] | Readonly<Record<string, unknown>>;
export type Row = Readonly<Record<string, Field>>;

/** In this order, every row is inserted after the rows that it refers to. */
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

// PostgreSQL reads the rows from JSON, where decimals are strings and bytes are written in hexadecimal.
const asJson = (field: Field): unknown => (Buffer.isBuffer(field) ? `\\x${field.toString('hex')}` : field);

export class RowCollector {
  readonly #rows = new Map<Table, Row[]>();
  readonly #idsOfTime = new Map<number, number>();

  /** Adds a row to a table that has no id. Every row of a table must name the same columns. */
  put(table: Table, row: Row): void {
    const rows = this.#rows.get(table);
    if (rows) rows.push(row);
    else this.#rows.set(table, [row]);
  }

  /**
   * Adds a row that was created at that time, with the id that it would have received then: ids keep the order of
   * events.
   */
  add(table: Table, at: Date, row: Row): string {
    const time = at.getTime();
    const nth = this.#idsOfTime.get(time) ?? 0;
    this.#idsOfTime.set(time, nth + 1);
    const id = uuidAt(time, nth);
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
        // Inserting the findings has already recorded a change at the present time; these rows replace it.
        const findings = rows.map((row) => row['finding_id']);
        await owner.query('delete from finding_changes where finding_id = any ($1)', [findings]);
      }
      await owner.query(
        `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(json)],
      );
    }
    // Granting exclusivity has set the time of the deal's stage to now.
    const deals = (this.#rows.get('deals') ?? []).map((row) => row['id']);
    await owner.query(
      'update deal_stages g set updated_at = d.updated_at from deals d where d.id = g.deal_id and d.id = any ($1)',
      [deals],
    );
  }
}
