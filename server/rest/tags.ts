/** What each group of operations is about, for the OpenAPI document. */
export const tags: Readonly<Record<string, string>> = {
  Contacts: 'People and companies that a brokerage tracks outside any deal.',
};
