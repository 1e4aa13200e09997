/**
 * What people are called where they once took part. Whoever has left a deal or a brokerage is called there as on that
 * day (`left_name`, written by the database): nobody follows them to another name or employer. An
 * invitation to come back leaves it until they accept. It is null while they take part, and where they left before this
 * was written down and have kept their name.
 */

/** SQL: the name of the person with a participation or membership, both joined. */
export const nameWith = (part: string, account: string): string => `coalesce(${part}.left_name, ${account}.name)`;

/** SQL: the address of the same person. */
export const emailWith = (part: string, account: string): string => `coalesce(${part}.left_email, ${account}.email)`;

const leftDeal = (id: string, deal: string) =>
  `(select l.left_name from participants l where l.deal_id = ${deal} and l.user_id = ${id})`;
const leftBrokerage = (id: string, brokerage: string) =>
  `(select l.left_name from members l where l.brokerage_id = ${brokerage} and l.user_id = ${id})`;

/** SQL: the name of the account `account`, whose id is in `id`, in the brokerage whose id is in `brokerage`. */
export const nameInBrokerage = (account: string, id: string, brokerage: string): string =>
  `coalesce(${leftBrokerage(id, brokerage)}, ${account}.name)`;

/** SQL: the same on the deal whose id is in `deal`. */
export const nameOnDeal = (account: string, id: string, deal: string): string =>
  `coalesce(${leftDeal(id, deal)}, ${account}.name)`;

/** SQL: the same in a record of the deal or, where `deal` is null or the person was never on it, of the brokerage. */
export const nameInRecord = (account: string, id: string, deal: string, brokerage: string): string =>
  `coalesce(${leftDeal(id, deal)}, ${leftBrokerage(id, brokerage)}, ${account}.name)`;
