/** What a few brokerages and their deals are made of, as plainly as it can be said: the walk keeps one beside the database. */

export type Id = string;

export interface Member {
  brokerage: Id;
  person: Id;
  /** By which id they go: until they have joined, that of the invitation. */
  goesBy: Id;
  role: 'admin' | 'broker' | 'staff';
  status: 'invited' | 'active' | 'removed';
  /** Whether they ever accepted. */
  joined: boolean;
  /** The digest of the link that makes it active. */
  link: Buffer | null;
  /** Until when the link works. */
  linkUntil: number;
}

export type Role = 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';

/** A person's part in a deal. */
export interface Part {
  id: Id;
  deal: Deal;
  person: Id;
  role: Role;
  status: 'invited' | 'active' | 'removed';
  /** Whether they ever accepted. */
  joined: boolean;
  /** Whom an advisor advises. */
  advises: Part | null;
}

export type State =
  'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';

export interface Deal {
  id: Id;
  brokerage: Id;
  /** As it was written down last: an exclusivity may have lapsed since. */
  state: State;
  needsNda: boolean;
}

export interface Nda {
  id: Id;
  part: Part;
  status: 'sent' | 'active' | 'expired' | 'revoked';
  expires: number | null;
}

export interface Exclusivity {
  id: Id;
  part: Part;
  person: Id;
  expires: number;
  ended: boolean;
}

export interface Question {
  id: Id;
  part: Part;
  asker: Id;
  status: 'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn';
  answered: boolean;
}

export type Confidentiality = 'public' | 'nda_gated' | 'selected_buyer_only';

export interface Document {
  id: Id;
  deal: Deal;
  source: 'simple' | 'production';
  confidentiality: Confidentiality;
  removed: number | null;
}

/** Something that belongs to one side of a deal, or (`part` null) to all of it. */
export interface OfSide {
  id: Id;
  part: Part;
}
export interface OfDeal {
  id: Id;
  deal: Deal;
}

/** What a broker says to a contradiction of a deal's books. */
export interface ContradictionAnswer extends OfDeal {
  /** Which contradiction. */
  readonly key: string;
  /** The figures that it was given to. */
  figures: string;
  answeredAt: number;
  released: boolean;
}

export interface Client {
  id: Id;
  creator: Id;
  brokerage: Id | null;
  deleted: boolean;
}

export interface World {
  /** Milliseconds since 1970. */
  now: number;
  people: Id[];
  brokerages: Id[];
  members: Member[];
  deals: Deal[];
  parts: Part[];
  ndas: Nda[];
  exclusivities: Exclusivity[];
  workspace: { part: Part; role: 'reader' | 'editor' }[];
  checklist: OfDeal[];
  normalizations: OfDeal[];
  contradictionAnswers: ContradictionAnswer[];
  questions: Question[];
  documents: Document[];
  openings: { id: Id; deal: Deal; person: Id }[];
  offers: OfSide[];
  conditions: OfDeal[];
  findings: OfSide[];
  sources: OfSide[];
  clients: Client[];
  grants: { person: Id; client: Client }[];
  optIns: { person: Id; deal: Deal }[];
  stops: Deal[];
}

/** A world in which there is nothing yet. */
export const emptyWorld = (now: number): World => ({
  now,
  people: [],
  brokerages: [],
  members: [],
  deals: [],
  parts: [],
  ndas: [],
  exclusivities: [],
  workspace: [],
  checklist: [],
  normalizations: [],
  contradictionAnswers: [],
  questions: [],
  documents: [],
  openings: [],
  offers: [],
  conditions: [],
  findings: [],
  sources: [],
  clients: [],
  grants: [],
  optIns: [],
  stops: [],
});
