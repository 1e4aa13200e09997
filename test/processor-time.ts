/** The time of this process's processor, which other programs lengthen little. */

/** Microseconds that something takes of it, with whatever else the process does meanwhile. */
export async function processorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
