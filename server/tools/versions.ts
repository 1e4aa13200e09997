/** The revisions of the protocol that are spoken, and what messages call its own. */

import type * as Sdk from '@modelcontextprotocol/server';

/** It has no initialize: each message says what it is of. */
export const newestVersion = '2026-07-28';

/** Those that initialize agrees on, the newest first. */
export const initializedVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];

/** All of them, the newest first. */
export const protocolVersions: readonly string[] = [newestVersion, ...initializedVersions];

/** What the protocol keeps in `_meta`, as the SDK names it, which is not loaded for these names (sdk.ts). */
export const metaNames: {
  readonly version: typeof Sdk.PROTOCOL_VERSION_META_KEY;
  readonly capabilities: typeof Sdk.CLIENT_CAPABILITIES_META_KEY;
  readonly client: typeof Sdk.CLIENT_INFO_META_KEY;
  readonly server: typeof Sdk.SERVER_INFO_META_KEY;
} = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  client: 'io.modelcontextprotocol/clientInfo',
  server: 'io.modelcontextprotocol/serverInfo',
};
