/** The processor time of this process, which other programs increase little. */

/** Microseconds of processor time that `work` takes, including whatever else the process does meanwhile. */
export async function processorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const pairs = JSON.stringify(Array.from({ length: 100_000 }, (_, at) => [at, String(at)]));

/** A known amount of work that takes longer on a slower machine: about an eighth of a second. */
function readPairs(): void {
  for (let times = 0; times < 5; times += 1) JSON.parse(pairs);
}

/** Microseconds of processor time that eight times the known work takes: about a second, longer on a slower machine. */
export const aboutASecond = async (): Promise<number> => 8 * (await processorTime(readPairs));

/**
 * Sends a request at most three times, until its response takes less than a fifth of a second of processor time, or
 * less than {@link aboutASecond}; returns the status, and throws otherwise. Work that is quadratic in the length of the
 * request takes several seconds, linear work some tens of milliseconds.
 */
export async function answersSoon(send: () => Promise<{ status: number }>): Promise<number> {
  let status = 0;
  for (let tried = 0; tried < 3; tried += 1) {
    const took = await processorTime(async () => ({ status } = await send()));
    if (took < 200_000 || took < (await aboutASecond())) return status;
  }
  throw new Error(`Answered ${status}, but after more than about a second each time.`);
}
