/** The standard confidentiality agreement that a broker starts from. */

/** The agreement for one sale, with the name of the brokerage that sends it and the public title of the deal. */
export const ndaTemplate = (brokerage: string, deal: string): string => `CONFIDENTIALITY AGREEMENT

This agreement is between ${brokerage} ("Broker"), on behalf of the owner ("Seller") of the business described as "${deal}" (the "Business"), and the person who signs below ("Buyer").

1. Confidential Information. "Confidential Information" means everything that Buyer receives about the Business through Dealkeep or from Broker or Seller, in any form, and the fact that the Business is for sale. It does not include information that is public, that Buyer knew before receiving it, or that Buyer lawfully learns from a third party who owes no duty of confidentiality.

2. Use. Buyer will use Confidential Information only to decide whether to buy the Business. Buyer will not use it to compete with the Business.

3. Permitted Disclosure. Buyer may disclose Confidential Information only to attorneys, accountants, lenders and partners who need it for that decision and who keep it confidential, as Buyer must. Buyer is responsible for their conduct.

4. No Contact. Buyer will not contact the employees, customers, suppliers or landlord of the Business about the sale without Broker's written consent.

5. No Hiring. For eighteen months, Buyer will not hire any employee of the Business whom Buyer came to know through this process, unless the sale is completed.

6. Destruction. At Broker's request, Buyer will destroy all Confidential Information received and confirm the destruction in writing. Buyer will keep confidential any copies that the law or ordinary backups require.

7. No Warranty or Obligation. Neither Broker nor Seller warrants that the Confidential Information is complete. No one is bound to a sale except by a signed purchase agreement.

8. Term and Governing Law. This agreement ends on the date that Dealkeep shows with it or, if Dealkeep shows none, when Broker ends it. It is governed by the law of the state in which the Business is located.`;
