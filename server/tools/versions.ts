/** The supported protocol revisions, and the protocol's names in messages. */

import type * as Sdk from '@modelcontextprotocol/server';

/** The revision without initialize: each message names its revision. */
export const newestVersion = '2026-07-28';

/** The revisions that initialize can negotiate, newest first. */
export const initializedVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];

/** All supported revisions, newest first. */
export const protocolVersions: readonly string[] = [newestVersion, ...initializedVersions];

/**
 * The protocol's names in `_meta`, typed by the SDK's constants; repeated here so that the SDK need not be loaded
 * (sdk.ts).
 */
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
