/** Why something failed, in one sentence. An error of several addresses that do not answer has a code and no message. */
export const reasonOf = (error: unknown): string => {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
};
