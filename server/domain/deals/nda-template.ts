/** The standard confidentiality agreement that a broker starts from. */

/** The agreement for one sale, with the name of the brokerage that sends it and the public title of the deal. */
export const ndaTemplate = (brokerage: string, deal: string): string => `CONFIDENTIALITY AGREEMENT

Between ${brokerage} ("Broker"), on behalf of the owner of the business described as "${deal}" ("Seller"), and the person who signs below ("Buyer").

1. What is confidential. Everything that Buyer receives about the business through Dealkeep or from Broker or Seller, in any form, and the fact that the business is for sale. What is public, what Buyer knew before, and what Buyer learns lawfully from somebody who owes no secrecy is not confidential.

2. Use. Buyer uses it to decide whether to buy the business, and for nothing else. Buyer does not use it to compete with the business.

3. People. Buyer may share it with attorneys, accountants, lenders and partners who need it for that decision and who keep it as Buyer must. Buyer answers for them.

4. No contact. Buyer does not contact the employees, customers, suppliers or landlord of the business about the sale without Broker's consent in writing.

5. No hiring. For eighteen months Buyer does not hire an employee of the business whom Buyer came to know through this process, unless the sale is completed.

6. Return. When Broker asks, Buyer destroys what was received and confirms that in writing. Copies that the law or ordinary backups require are kept confidential.

7. No promise. Neither Broker nor Seller warrants that the information is complete. Only a signed purchase agreement binds anybody to a sale.

8. Term and law. This agreement ends on the day that Dealkeep shows with it; where it shows none, when Broker ends it. The law of the state in which the business is located governs it.`;
