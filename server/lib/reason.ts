/**
 * Why something failed, in one sentence. An error for several addresses that do not respond has a code but no message.
 */
export const reasonOf = (error: unknown): string => {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
};
