/**
 * The requests and answers of the web application as types, inferred from the routes themselves.
 * The pages import this file alone of the server, and only its types; `web/src/api/client.ts` says how they ask.
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
import type { mostDocumentsOfSource } from './domain/documents/documents.ts';
import type { lengths } from './domain/lengths.ts';
import type { lifetimes } from './domain/lifetimes.ts';
import type { mostSources } from './domain/offers/financing.ts';
import type { longestTerms } from './domain/offers/offers.ts';
import type { longestEmailAddress } from './lib/email-address.ts';
import type { mostMembers } from './domain/people/members.ts';
import type { mostContactRows } from './web/api/contact-csv.ts';
import type { largestContactFile } from './web/api/contacts.ts';
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

/** The paths that can be asked by a method. */
export type PathOf<M extends Method> = {
  [P in keyof Contract]: `$${M}` extends keyof Contract[P] ? P : never;
}[keyof Contract];

type Endpoint<M extends Method, P extends PathOf<M>> = Contract[P][`$${M}` & keyof Contract[P]];

type Json<E> = E extends { outputFormat: 'json'; output: infer Output } ? Output : undefined;

/** What is answered when it went well; undefined where that may be nothing (204). */
export type Answer<M extends Method, P extends PathOf<M>> = Json<Endpoint<M, P>>;

/** What is sent as the body. */
export type RequestBody<M extends Method, P extends PathOf<M>> =
  Endpoint<M, P> extends { input: { json: infer Sent } } ? Sent : never;

/** What can be sent as the query. */
export type RequestQuery<M extends Method, P extends PathOf<M>> =
  Endpoint<M, P> extends { input: { query: infer Q } } ? Asked<Q> : never;

/** Numbers and truth values are written as text, and what is null is left out. */
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

/** What the service does by the clock. */
export type { JobName } from './domain/service/status.ts';

/** What GET /api/web/events sends as the data of each event. */
export type { SeenChange as LiveEvent } from './domain/visibility/changes.ts';

/** The words of what is both in pages and in reports: what differs from them in the pages is an error of types. */
export type { SharedWords } from './domain/reports/words.ts';

/** The fields of an offer that the service knows: the pages show what a payload has besides under its own name. */
export type { OfferField } from './domain/offers/offers.ts';

/** What audit records are about: the pages name each, and one that they do not is an error of types. */
export type { AuditSubject } from './domain/audit/actions.ts';

/** Bounds that the pages have, too: what differs from them there is an error of types. */
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
  readonly mostDocumentsOfSource: typeof mostDocumentsOfSource;
  readonly mostFindings: typeof mostFindings;
  readonly mostMembers: typeof mostMembers;
  readonly mostNormalizations: typeof mostNormalizations;
  readonly mostOfPicture: typeof mostOfPicture;
  readonly mostOptIns: typeof mostOptIns;
  readonly mostQuestions: typeof mostQuestions;
  readonly mostSnapshotRows: typeof mostSnapshotRows;
  readonly mostSources: typeof mostSources;
  readonly passwordLength: typeof passwordLength;
}
