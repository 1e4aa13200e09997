import { ApiError } from './client.ts';

/**
 * Sends a person's change of something that they have read. If it was changed by somebody else meanwhile, the server
 * rejects the change, and `readAgain` shows the current state before the error is thrown.
 */
export async function sendAsRead(send: () => Promise<unknown>, readAgain: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'conflict') await readAgain();
    throw error;
  }
}
