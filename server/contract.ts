/**
 * The requests and responses of the web application as types, inferred from the routes themselves. The pages import
 * only this file of the server, and only its types; `web/src/api/client.ts` describes how they send requests.
 */

import type { ExtractSchema } from 'hono/types';
import type { AuthRoutes } from './auth/routes.ts';
import type { mostOfPicture } from './documents/pictures.ts';
import type { largestDocument } from './documents/upload.ts';
import type { passwordLength } from './domain/accounts/password-rules.ts';
import type { mostClients } from './domain/clients/connected-clients.ts';
import type { mostOptIns } from './domain/clients/deal-opt-ins.ts';
import type { mostFindings } from './domain/diligence/findings.ts';
import type { mostNormalizations } from './domain/diligence/normalizations.ts';
import type { mostQuestions } from './domain/diligence/questions.ts';
import type { mostSnapshotRows } from './domain/diligence/snapshots.ts';
import type { mostDocumentsOfSource, mostOpenings, mostToRestore } from './domain/documents/documents.ts';
import type { lengths } from './domain/lengths.ts';
import type { lifetimes } from './domain/lifetimes.ts';
import type { mostSources } from './domain/offers/financing.ts';
import type { longestTerms } from './domain/offers/offers.ts';
import type { longestEmailAddress } from './lib/email-address.ts';
import type { mostMembers } from './domain/people/members.ts';
import type { mostContactRows } from './web/api/contact-csv.ts';
import type { largestContactFile, mostContactsAtOnce } from './web/api/contacts.ts';
import type { largestBooksFile } from './web/api/qoe-import.ts';
import type { ApiRoutes } from './web/api/routes.ts';

export type { ViewName } from './tools/views.ts';
export type { ErrorBody } from './http/problem.ts';

type Below<Prefix extends string, Routes> = {
  [Path in keyof Routes as Path extends string ? `${Prefix}${Path}` : never]: Routes[Path];
};

/** Every route by its path below /api and its method: `Contract['/web/deals/:id']['$get']`. */
export type Contract = Below<'/web', ExtractSchema<ApiRoutes>> & Below<'/auth', ExtractSchema<AuthRoutes>>;

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that support a method. */
export type PathOf<M extends Method> = {
  [P in keyof Contract]: `$${M}` extends keyof Contract[P] ? P : never;
}[keyof Contract];

type Endpoint<M extends Method, P extends PathOf<M>> = Contract[P][`$${M}` & keyof Contract[P]];

type Json<E> = E extends { outputFormat: 'json'; output: infer Output } ? Output : undefined;

/** Body of a successful response; undefined if it may be empty (204). */
export type Answer<M extends Method, P extends PathOf<M>> = Json<Endpoint<M, P>>;

/** The JSON body of a request. */
export type RequestBody<M extends Method, P extends PathOf<M>> =
  Endpoint<M, P> extends { input: { json: infer Sent } } ? Sent : never;

/** The query parameters of a request. */
export type RequestQuery<M extends Method, P extends PathOf<M>> =
  Endpoint<M, P> extends { input: { query: infer Q } } ? Asked<Q> : never;

/** Numbers and booleans are sent as text, and nulls are left out. */
type Asked<Q> = {
  [K in keyof Q]: Q[K] | null | (string extends Q[K] ? number : never) | ('true' extends Q[K] ? boolean : never);
};

type Input<E> = E extends { input: infer I }
  ? (I extends { param: infer Param } ? { param: Param } : unknown) &
      (I extends { query: infer Q } ? ({} extends Q ? { query?: Asked<Q> } : { query: Asked<Q> }) : unknown) &
      (I extends { json: infer Sent } ? ({} extends Sent ? { json?: Sent } : { json: Sent }) : unknown)
  : unknown;

/** What a request takes besides its path: the ids in it, its query, its body. */
export type RequestOptions<M extends Method, P extends PathOf<M>> = Input<Endpoint<M, P>>;

/** Names of the scheduled jobs. */
export type { JobName } from './domain/service/status.ts';

/** The data of each event that GET /api/web/events sends. */
export type { SeenChange as LiveEvent } from './domain/visibility/changes.ts';

/** Labels that both pages and reports use: a different label in the pages is a type error. */
export type { SharedWords } from './domain/reports/words.ts';

/** The fields of an offer that the service knows: the pages show other fields of a payload under their own names. */
export type { OfferField } from './domain/offers/offers.ts';

/** Subjects of audit records: the pages have a name for each, and a missing one is a type error. */
export type { AuditSubject } from './domain/audit/actions.ts';

/** Limits that the pages repeat: a different value there is a type error. */
export interface SharedBounds {
  readonly largestBooksFile: typeof largestBooksFile;
  readonly largestContactFile: typeof largestContactFile;
  readonly largestDocument: typeof largestDocument;
  readonly lengths: typeof lengths;
  readonly lifetimes: typeof lifetimes;
  readonly longestEmailAddress: typeof longestEmailAddress;
  readonly longestTerms: typeof longestTerms;
  readonly mostClients: typeof mostClients;
  readonly mostContactRows: typeof mostContactRows;
  readonly mostContactsAtOnce: typeof mostContactsAtOnce;
  readonly mostDocumentsOfSource: typeof mostDocumentsOfSource;
  readonly mostFindings: typeof mostFindings;
  readonly mostMembers: typeof mostMembers;
  readonly mostNormalizations: typeof mostNormalizations;
  readonly mostOfPicture: typeof mostOfPicture;
  readonly mostOpenings: typeof mostOpenings;
  readonly mostOptIns: typeof mostOptIns;
  readonly mostQuestions: typeof mostQuestions;
  readonly mostSnapshotRows: typeof mostSnapshotRows;
  readonly mostSources: typeof mostSources;
  readonly mostToRestore: typeof mostToRestore;
  readonly passwordLength: typeof passwordLength;
}
