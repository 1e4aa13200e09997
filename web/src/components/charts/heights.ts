/** The height of each chart with its heading, for the placeholder while its data is loading. */
export const chartHeights = {
  monthly: 'h-[25.25rem]',
  bridge: 'h-[23.25rem]',
  concentration: 'h-[29.5rem]',
} as const;
