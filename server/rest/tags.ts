/** Describes each group of operations, for the OpenAPI document. */
export const tags: Readonly<Record<string, string>> = {
  Key: 'The API key that is calling.',
  Contacts: 'People and companies that a brokerage tracks outside any deal.',
  Deals: "Sales of businesses that their brokers have opened to the brokerage's keys, and the people on them.",
  Offers: 'What buyers offer for a business, and how they mean to pay for it.',
  Diligence: 'What buyers ask, what was found, and where NDAs stand.',
  Documents: 'The data room of a deal and what was produced for requests.',
  'Quality of earnings': 'The books of a business: checklist, snapshots, and the figures in them.',
  Closing: 'What must be done before a deal closes.',
  Events: 'Changes in the order in which they were committed, for systems that stay in sync.',
  Webhooks: 'Events sent to your receiver, signed according to Standard Webhooks.',
};
