/** The program, as a process of Node.js: for the command line, and for what measures it. */

import path from 'node:path';
import { isPacked, root } from './install.js';

/** The arguments of `node` that run it, before its own. */
export const program = [
  // Requests leave nothing behind that would fill a larger young generation: with 16 MB a process under load takes some
  // 45 MB more and 3 to 5 % less of the processor, with the 64 MB of Node.js itself some 100 MB more.
  '--max-semi-space-size=8',
  // What is loaded at the start is kept: with the megabyte that Node.js itself begins with it is copied again and again.
  '--min-semi-space-size=8',
  path.join(root, ...(isPacked ? ['dist', 'server', 'main.js'] : ['server', 'cli', 'main.ts'])),
];
