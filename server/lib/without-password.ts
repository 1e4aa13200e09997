/** Addresses as they are shown. */

/** A text without the user and password of a URL in it. */
export const withoutPassword = (text: string): string =>
  text.replaceAll(/:\/\/[^\s,]*@/g, '://…@').replace(/^[^\s,/]*:(?!\/\/)[^\s,]*@/, '…@');
