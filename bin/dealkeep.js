#!/usr/bin/env node
/** The command line: makes sure of the installation, then runs server/cli/main.ts on the Node.js that came with it. */

import path from 'node:path';
import { become, ensureInstalled, root, tools } from './install.js';

ensureInstalled();
// Requests leave nothing behind that would fill a larger young generation: with the 64 MB of Node.js itself the process
// takes some 100 MB more and is no faster.
const young = '--max-semi-space-size=16';
// The channel closes when this process is killed, which tells the program to stop.
become(path.join(tools, 'node'), [young, path.join(root, 'server', 'cli', 'main.ts'), ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
