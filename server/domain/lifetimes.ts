/** Lifetimes in words, for mails, the command line and the pages. The functions of the database schema enforce them. */
export const lifetimes = {
  /** An invitation's link. */
  invitation: '14 days',
  /** A mailed link for a new password or another e-mail address. */
  mailedLink: '30 minutes',
  /** How long changes are kept for a webhook that is turned off. */
  change: '30 days',
  /** How long an entry stays in the log of a webhook's deliveries. */
  delivery: '30 days',
  /** How long all deliveries of a webhook may fail before it is turned off. */
  failingWebhook: 'three days',
} as const;
