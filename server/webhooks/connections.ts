/** Connections to the receivers of webhooks that were sent to lately. */

import { KeptConnections } from '../http/guarded-fetch.ts';

/** For how many webhooks connections are kept. */
const most = 64;

export interface Receivers {
  /** Connections to the receiver of a webhook, to be given back when nothing more is sent for now. */
  of(webhook: string): { readonly kept: KeptConnections; giveBack(): void };
  /** Ends those that are not in use. */
  close(): void;
}

/** Keeps connections of each webhook, which no other one uses, to the last ones that were sent to. */
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
      // The last of the map is the last that was used.
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
