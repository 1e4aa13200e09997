/** The time of this process's processor, which other programs lengthen little. */

/** Microseconds that something takes of it, with whatever else the process does meanwhile. */
export async function processorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const pairs = JSON.stringify(Array.from({ length: 100_000 }, (_, at) => [at, String(at)]));

/** Work that takes the longer the slower the machine is: about an eighth of a second. */
function readPairs(): void {
  for (let times = 0; times < 5; times += 1) JSON.parse(pairs);
}

/** Microseconds of the processor's time that something known takes eight times: about a second, more on a slower machine. */
export const aboutASecond = async (): Promise<number> => 8 * (await processorTime(readPairs));

/**
 * Sends something three times at most, until it is answered after a fifth of a second of the processor's time, or within what this machine
 * needs to do something known eight times, which is about a second. What takes the square of its length takes several; what does not, some tens
 * of milliseconds.
 */
export async function answersSoon(send: () => Promise<{ status: number }>): Promise<number> {
  let status = 0;
  for (let tried = 0; tried < 3; tried += 1) {
    const took = await processorTime(async () => ({ status } = await send()));
    if (took < 200_000 || took < (await aboutASecond())) return status;
  }
  throw new Error(`Answered ${status}, but after more than about a second each time.`);
}
