#!/usr/bin/env node
/** The command line: makes sure of the installation, then runs server/cli/main.ts on the Node.js that came with it. */

import path from 'node:path';
import { become, ensureInstalled, tools } from './install.js';
import { program } from './program.js';

ensureInstalled();
// The channel closes when this process is killed, which tells the program to stop.
become(path.join(tools, 'node'), [...program, ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
