#!/usr/bin/env node
/**
 * The command line: installs what is missing, then runs the server's program on the Node.js that was installed with it.
 */

import { become, ensureInstalled, nodeProgram } from './install.js';
import { program } from './program.js';

ensureInstalled();
// The IPC channel closes when this process is killed; the program stops then.
become(nodeProgram(), [...program, ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
