/** The views, each built to one file of this name; the tool server says which tool has which. */
export const viewNames = ['monthly', 'bridge', 'customers', 'offers', 'conditions'] as const;

export type ViewName = (typeof viewNames)[number];
