/** The data of a brokerage, table by table, as far as the caller may read it. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';

const may = row<{ may: boolean }>('may_export', 'select app.may_export($1) as may');

/** Whether the caller may export the data of a brokerage: only its admins, with a recent sign-in. */
export const mayExport = (brokerageId: string): Statement<boolean> =>
  mapped(may(brokerageId), (answer) => answer?.may ?? false);

const begin = row<{ id: string }>(
  'begin_export',
  `select id, app.audit('brokerage.export', id::text, 'done', id, null, $2, $3, '{}') from brokerages where id = $1 and app.may_export(id)`,
);

/** Records in the audit trail that an export begins. False: the caller may not export. */
export const beginExport = (brokerageId: string, { address, requestId }: Origin): Statement<boolean> =>
  tookPlace(begin(brokerageId, address, requestId));

export interface ExportedTable {
  name: string;
  columns: string[];
  /** For each column, whether it is free text. */
  texts: boolean[];
  /** Whether the rows are found by their deals; otherwise by the brokerage. */
  by_deal: boolean;
  /** The query that reads the rows. */
  query: string;
}

/** The tables of a brokerage's export. */
export const exportTables = rows<ExportedTable, []>(
  'export_tables',
  'select name, columns, texts, by_deal, query from app.export_tables()',
);

/** The next deals of a brokerage, at most 200, by id. */
export const exportDeals = rows<{ id: string }, [brokerageId: string, after: string | null]>(
  'export_deals',
  `select id from public.deals where organization_id = $1 and ($2::uuid is null or id > $2) order by id limit 200`,
);

/** Of these deals, those on which the caller is no broker: of them an export has only what the caller sees. */
export const dealsWithoutCaller = rows<{ id: string }, [dealIds: readonly string[]]>(
  'deals_without_caller',
  `select id from unnest($1::uuid[]) id where id <> all ((select app.deals_as('broker'))::uuid[])`,
);

export interface ExportedRow {
  /** All columns, as JSON text. */
  json: string;
  /** The columns as texts. */
  cells: (string | null)[];
  /** The position after which the next portion begins. */
  place: string[];
}

/** The next rows of a table by its query: of the brokerage, or of deals. */
export const exportRows = rows<
  ExportedRow,
  [query: string, brokerageId: string | null, deals: string[], after: string[] | null, most: number]
>('export_rows', 'select content as json, cells, place from app.export_rows($1, $2, $3, $4, $5)');

/** The people of a brokerage, or of deals. */
export const exportPeople = rows<Omit<ExportedRow, 'place'>, [brokerageId: string | null, deals: string[]]>(
  'export_people',
  'select content as json, cells from app.export_people($1, $2)',
);
