/** Sending mails. A link that could not be mailed, because no mail server is configured, goes to the log. */

import type { Services } from '../services.ts';
import type { Mail } from '../mail.ts';
import { invitationUrl } from './links.ts';

/** Sends a mail; a failure goes to the log. Never rejects. */
export async function deliver({ mail, log }: Services, message: Mail): Promise<void> {
  try {
    await mail.send(message);
  } catch (error) {
    log.error({ err: error, subject: message.subject }, 'a mail could not be sent');
  }
}

/** Mails a link; without SMTP_URL the log shows it, and nothing else of the mail. Never rejects. */
export async function deliverLink(services: Services, message: Mail, what: string, link: string): Promise<void> {
  if (!services.config.smtpUrl) services.log.info({ link }, `SMTP_URL is not set: ${what}`);
  await deliver(services, message);
}

/** How every mail begins. */
export const greeting = (name: string) => `Hello ${name},\n\n`;

/** An invitation; `to what` ends the sentence "… invites you to". */
export function mailInvitation(
  services: Services,
  to: { email: string; name: string },
  invitation: { by: string; toWhat: string },
  token: string,
): Promise<void> {
  const link = invitationUrl(services.config.baseUrl, token);
  const text = `${greeting(to.name)}${invitation.by} invites you to ${invitation.toWhat}. Accept here:

${link}

The link works once, for 14 days.
`;
  return deliverLink(services, { to: to.email, subject: `${invitation.by} invites you`, text }, 'invitation', link);
}
