/** Kept connections to the receivers of webhooks with recent requests. */

import { KeptConnections } from '../http/guarded-fetch.ts';

/** Connections are kept for at most this many webhooks; connections in use are not closed. */
const most = 64;

export interface Receivers {
  /** Connections to a webhook's receiver; `giveBack` is called when nothing more is sent to it for now. */
  of(webhook: string): { readonly kept: KeptConnections; giveBack(): void };
  /** Closes the connections that are not in use. */
  close(): void;
}

/**
 * Keeps connections to the most recently used receivers. They are kept per webhook: no two webhooks share a connection.
 */
export function openReceivers(): Receivers {
  const byWebhook = new Map<string, { readonly kept: KeptConnections; users: number }>();

  function leave(wanted: number): void {
    for (const [webhook, { kept, users }] of byWebhook) {
      if (byWebhook.size <= wanted) return;
      if (users > 0) continue;
      byWebhook.delete(webhook);
      kept.close();
    }
  }

  return {
    of(webhook) {
      const one = byWebhook.get(webhook) ?? { kept: new KeptConnections(), users: 0 };
      one.users += 1;
      // Moves the webhook to the end of the map, which is ordered by last use.
      byWebhook.delete(webhook);
      byWebhook.set(webhook, one);
      leave(most);
      return {
        kept: one.kept,
        giveBack() {
          one.users -= 1;
          leave(most);
        },
      };
    },
    close: () => leave(0),
  };
}
