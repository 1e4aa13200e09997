#!/usr/bin/env node
/** Runs a command with this checkout's Node.js and tools first in PATH: node bin/run.js vitest run */

import path from 'node:path';
import { become, ensureInstalled, root } from './install.js';

ensureInstalled();
const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  process.stderr.write('Usage: node bin/run.js <command> [arguments]\n');
  process.exit(2);
}
// Compiles the tools' code once, instead of in each of their processes.
process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules', '.cache', 'node');
become(command, args, { cwd: root });
