/** The revisions of the protocol that are spoken. */

/** It has no initialize: each message says what it is of. */
export const newestVersion = '2026-07-28';

/** Those that initialize agrees on, the newest first. */
export const initializedVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];

/** All of them, the newest first. */
export const protocolVersions: readonly string[] = [newestVersion, ...initializedVersions];
