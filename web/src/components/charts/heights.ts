/** The room that each chart takes with its heading, for what stands in its place until its figures are there. */
export const chartHeights = {
  monthly: 'h-[25.25rem]',
  bridge: 'h-[23.25rem]',
  concentration: 'h-[29.5rem]',
} as const;
