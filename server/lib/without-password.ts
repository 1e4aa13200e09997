/** URLs as they are shown to people. */

/** The text with the user and password of each URL removed. */
export const withoutPassword = (text: string): string =>
  text.replaceAll(/:\/\/[^\s,]*@/g, '://…@').replace(/^[^\s,/]*:(?!\/\/)[^\s,]*@/, '…@');
