/**
 * Who may see what, written in plain TypeScript from docs/visibility.md and not from the policies: the two worlds of
 * two-worlds.test.ts differ in what a person may not see according to this model.
 */

export type DealRole = 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';

export interface Part {
  readonly person: string;
  readonly role: DealRole;
  readonly status: 'invited' | 'active' | 'removed';
  /** The person whom an advisor advises. */
  readonly advises?: string;
}

export interface ModelDeal {
  readonly name: string;
  readonly brokerage: string;
  readonly state: 'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';
  readonly needsNda: boolean;
  /** Whether the deal is open to the API keys of its brokerage. */
  readonly admitted?: boolean;
  readonly parts: readonly Part[];
  /** The latest NDA of each buyer. */
  readonly ndas: Readonly<Record<string, 'sent' | 'active' | 'expired' | 'revoked'>>;
  readonly exclusive: string | null;
  /** Buyers, advisors and viewers with a place in the QoE workspace. */
  readonly places: Readonly<Record<string, 'reader' | 'editor'>>;
}

export interface Model {
  /** Active members of each brokerage. */
  readonly members: Readonly<Record<string, Readonly<Record<string, 'admin' | 'broker' | 'staff'>>>>;
  readonly deals: readonly ModelDeal[];
}

export interface Sight {
  admin(brokerage: string): boolean;
  member(brokerage: string): boolean;
  brokerage(brokerage: string): boolean;
  deal(deal: ModelDeal): boolean;
  /**
   * Whether the caller sees the stage of the sale to the selected buyer, the exclusivity and the closing conditions.
   */
  stage(deal: ModelDeal): boolean;
  part(deal: ModelDeal, part: Part): boolean;
  user(person: string): boolean;
  /** Whether the caller may know that this person takes part in the deal. */
  known(deal: ModelDeal, person: string): boolean;
  /** Whether the caller sees the records of a buyer's side, or of the broker's: offers, NDAs, findings, financing. */
  ofSide(deal: ModelDeal, principal: string): boolean;
  question(deal: ModelDeal, principal: string, status: string): boolean;
  dealSide(deal: ModelDeal): boolean;
  qoe(deal: ModelDeal): boolean;
  document(deal: ModelDeal, confidentiality: string): boolean;
  /** Whether the caller is a broker of the deal. */
  broker(deal: ModelDeal): boolean;
}

/**
 * What a person sees, or an API key with every scope of the brokerage `keyOf`; with neither, what nobody in particular
 * sees.
 */
export function sightOf(model: Model, caller: string | null, keyOf: string | null = null): Sight {
  /** An API key sees what a broker of the deal sees, if the deal admits keys. */
  const reached = (deal: ModelDeal) => keyOf === deal.brokerage && deal.admitted === true;
  const own = (deal: ModelDeal) =>
    deal.parts.find((part) => part.person === caller && part.status === 'active') ?? null;
  /** The participant through whom the caller sees a deal: the person whom they advise, or the caller. */
  const through = (deal: ModelDeal): Part | null => {
    const part = own(deal);
    if (!part || part.role !== 'advisor') return part;
    return deal.parts.find((one) => one.person === part.advises && one.status === 'active') ?? null;
  };
  const admin = (brokerage: string) => caller !== null && model.members[brokerage]?.[caller] === 'admin';
  const member = (brokerage: string) => caller !== null && model.members[brokerage]?.[caller] !== undefined;
  const side = (deal: ModelDeal) => (reached(deal) ? 'broker' : (through(deal)?.role ?? null));
  const underNda = (deal: ModelDeal) => deal.ndas[through(deal)?.person ?? ''] === 'active';
  const dealSide = (deal: ModelDeal) => ['broker', 'seller'].includes(side(deal) ?? '');
  const looksOn = (deal: ModelDeal) => dealSide(deal) || side(deal) === 'viewer' || admin(deal.brokerage);
  const deal = (of: ModelDeal) => reached(of) || through(of) !== null || admin(of.brokerage);
  const selected = (of: ModelDeal) => side(of) === 'buyer' && of.exclusive === through(of)?.person;
  const part = (of: ModelDeal, one: Part) =>
    looksOn(of) ||
    (through(of) !== null && (one.advises ?? one.person) === through(of)!.person) ||
    (side(of) === 'buyer' &&
      one.status === 'active' &&
      (one.role === 'broker' || (one.role === 'seller' && (!of.needsNda || underNda(of)))));
  const known = (of: ModelDeal, person: string) => of.parts.some((one) => one.person === person && part(of, one));
  return {
    admin,
    member,
    brokerage: (brokerage) =>
      brokerage === keyOf || member(brokerage) || model.deals.some((one) => one.brokerage === brokerage && deal(one)),
    deal,
    stage: (of) => looksOn(of) || selected(of),
    part,
    user: (person) =>
      person === caller ||
      Object.entries(model.members).some(([brokerage, all]) => member(brokerage) && all[person] !== undefined) ||
      model.deals.some((one) => known(one, person)),
    known,
    ofSide: (of, principal) => dealSide(of) || through(of)?.person === principal,
    question: (of, principal, status) =>
      side(of) === 'broker' ||
      (side(of) === 'seller' && ['with_seller', 'answered', 'distributed'].includes(status)) ||
      through(of)?.person === principal,
    dealSide,
    qoe: (of) => {
      if (dealSide(of)) return true;
      const place = of.places[caller ?? ''] ?? of.places[through(of)?.person ?? ''];
      return through(of) !== null && place !== undefined && (side(of) !== 'buyer' || underNda(of));
    },
    document: (of, confidentiality) =>
      dealSide(of) ||
      (confidentiality === 'public' && deal(of)) ||
      (confidentiality === 'nda_gated' && underNda(of)) ||
      (confidentiality === 'selected_buyer_only' && selected(of)),
    broker: (of) => own(of)?.role === 'broker',
  };
}
