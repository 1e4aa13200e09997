/** Describes each group of operations, for the OpenAPI document. */
export const tags: Readonly<Record<string, string>> = {
  Key: 'The API key that is calling.',
  Contacts: 'People and companies that a brokerage tracks outside any deal.',
  Deals:
    "Sales of businesses, of those that their brokers have opened to the brokerage's keys, and the people on them.",
  Offers: 'What buyers offer for a business, and how they mean to pay for it.',
  Diligence: 'What buyers ask, what was found, and where NDAs stand.',
  Documents: 'The data room of a deal and what was produced for requests.',
  'Quality of earnings': 'The books of a business: checklist, snapshots, and the figures in them.',
  Closing: 'What must be done before a deal closes.',
  Events: 'What changed, in the order in which it was committed, for systems that follow.',
  Webhooks: 'Events sent to a receiver of yours, signed as Standard Webhooks has it.',
};
