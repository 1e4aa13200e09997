/** A plain model of brokerages and their deals, which the walk keeps beside the database. */

export type Id = string;

export interface Member {
  brokerage: Id;
  person: Id;
  /** The id under which the member is listed: that of the invitation until they have joined. */
  goesBy: Id;
  role: 'admin' | 'broker' | 'staff';
  status: 'invited' | 'active' | 'removed';
  /** Whether the person ever accepted. */
  joined: boolean;
  /** The digest of the link that activates the membership. */
  link: Buffer | null;
  /** When the link expires, in milliseconds since 1970. */
  linkUntil: number;
}

export type Role = 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';

/** A person's participation in a deal. */
export interface Part {
  id: Id;
  deal: Deal;
  person: Id;
  role: Role;
  status: 'invited' | 'active' | 'removed';
  /** Whether the person ever accepted. */
  joined: boolean;
  /** Whom an advisor advises. */
  advises: Part | null;
  /** When the link of the invitation expires, in milliseconds since 1970. */
  linkUntil: number;
}

export type State =
  'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';

export interface Deal {
  id: Id;
  brokerage: Id;
  /** As last stored: an exclusivity may have expired since. */
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

/** A record that belongs to one side of a deal. */
export interface OfSide {
  id: Id;
  part: Part;
}
export interface OfDeal {
  id: Id;
  deal: Deal;
}

/** A broker's answer to a contradiction in a deal's books. */
export interface ContradictionAnswer extends OfDeal {
  /** Identifies the contradiction. */
  readonly key: string;
  /** The figures of the contradiction when it was answered. */
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

/** Returns a world that is empty. */
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
