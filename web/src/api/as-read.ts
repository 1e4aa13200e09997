import { ApiError } from './client.ts';

/**
 * Sends what somebody wrote about what they have read. Where that was changed meanwhile it is refused, and `readAgain` shows what is there now before the
 * refusal is told.
 */
export async function sendAsRead(send: () => Promise<unknown>, readAgain: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'conflict') await readAgain();
    throw error;
  }
}
