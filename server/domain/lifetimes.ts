/** How long things last, as mails, the command line and the pages say it. The functions of the schema decide it. */
export const lifetimes = {
  /** The link of an invitation. */
  invitation: '14 days',
  /** A mailed link to a new password or to another e-mail address. */
  mailedLink: '30 minutes',
  /** A change that a webhook which is off is sent later. */
  change: '30 days',
  /** A line in the log of a webhook's deliveries. */
  delivery: '30 days',
  /** How long a webhook may take nothing before it is turned off. */
  failingWebhook: 'three days',
} as const;
