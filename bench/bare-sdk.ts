/**
 * The MCP SDK alone: tools whose handlers return a constant, read from the file BENCH_RESULTS; both protocol versions,
 * nothing else.
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server, type CallToolResult, type ServerOptions } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';

const file = readFileSync(process.env['BENCH_RESULTS'] ?? '', 'utf8');
const results = new Map(Object.entries(JSON.parse(file) as Record<string, object>));
const options: ServerOptions = { capabilities: { tools: {} }, jsonSchemaValidator: new AjvJsonSchemaValidator() };

function constants(): Server {
  const server = new Server({ name: 'constants', version: '1' }, options);
  server.setRequestHandler('tools/call', ({ params }) => {
    const structuredContent = results.get(params.name) as Record<string, unknown>;
    return {
      content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
      structuredContent,
    } as CallToolResult;
  });
  return server;
}

const newer = toNodeHandler(createMcpHandler(constants, { legacy: 'reject' }));

const listener = createServer((request, response) => {
  if (request.headers['mcp-protocol-version'] === '2026-07-28') return void newer(request, response);
  const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  const server = constants();
  response.once('close', () => void server.close());
  return void server.connect(transport).then(() => transport.handleRequest(request, response));
});
listener.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(listener.address() as AddressInfo).port}\n`);
});
process.on('SIGTERM', () => {
  listener.close();
  listener.closeAllConnections();
});
