#!/usr/bin/env node
/** The command line: makes sure of the installation, then runs the server's program on the Node.js that came with it. */

import { become, ensureInstalled, nodeProgram } from './install.js';
import { program } from './program.js';

ensureInstalled();
// The channel closes when this process is killed, which tells the program to stop.
become(nodeProgram(), [...program, ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
