/** How to run the program with Node.js: for the command line, and for benches, drills and tests. */

import path from 'node:path';
import { isPacked, root } from './install.js';

/** The arguments of `node` that run the program, before the program's own. */
export const program = [
  // Requests leave no objects behind that would fill a larger young generation: with 16 MB a process under load takes
  // some 45 MB more and 3 to 5 % less processor time, with the default of 64 MB in Node.js some 100 MB more.
  '--max-semi-space-size=8',
  // Modules loaded at the start stay in memory: with the initial 1 MB of Node.js they are copied again and again.
  '--min-semi-space-size=8',
  path.join(root, ...(isPacked ? ['dist', 'server', 'main.js'] : ['server', 'cli', 'main.ts'])),
];
