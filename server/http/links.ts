/** Where links of the server lead: to pages of the application, by the paths that its router has. */

import { accountPages, dealPages, frames, paths, type PagePath } from '../../web/src/paths.ts';
import type { NotificationPlace } from '../domain/notifications/kinds.ts';

const pattern = (path: PagePath): string => path.replaceAll('$', ':');

/** The paths at which a browser gets the application, as Hono writes them. */
export const applicationPaths: readonly string[] = [
  ...Object.values(paths).map(pattern),
  ...frames.map((frame) => `${pattern(frame)}/:page`),
];

/**
 * A link with a one-time token that a person is given outside the browser: in a mail, or by the command line. The token is
 * in the fragment, which a browser sends to nobody: no log, proxy or Referer sees it. The page takes it from there and
 * sends it in the body of a request.
 */
function oneTime(path: PagePath) {
  return (baseUrl: string, token: string): string => `${baseUrl}${path}#${new URLSearchParams({ token })}`;
}

/** Creates the first brokerage and its admin. */
export const setUpUrl = oneTime(paths.setUp);

/** Accepts an invitation to a brokerage or a deal. */
export const invitationUrl = oneTime(paths.acceptInvitation);

/** Sets a new password. */
export const resetUrl = oneTime(paths.newPassword);

/** Moves an account to the address that the link was mailed to. */
export const addressChangeUrl = oneTime(paths.confirmAddress);

/** A page that leads to `back`, a path on our own origin, when it is done with; the page looks at it again. */
function returning(path: PagePath) {
  return (back: string): string => `${path}?${new URLSearchParams({ return_to: back })}`;
}

/** Signing in. */
export const signInPath = returning(paths.signIn);

/** Showing that it is still the person who signed in. */
export const reauthenticatePath = returning(paths.reauthenticate);

/** Signing out, and signing in as another person. */
export const signOutPath = returning(paths.signOut);

/** What protects the person's account. */
export const securityPath: PagePath = paths.security;
export const brokeragePath: PagePath = paths.brokerage;
/** Where what changes in the brokerage is sent to. */
export const webhooksPath: PagePath = paths.webhooks;

/** The person's connected clients. */
export const clientsPath: PagePath = paths.clients;

/** Which tools may write, for all clients. */
export const toolsPath: PagePath = paths.tools;

/** Which tools may write through this client. */
export const clientToolsPath = (id: string): string => paths.clientTools.replace('$clientId', id);

/** Whether tools may write on this deal. */
export const dealToolsPath = (id: string): string => paths.dealTools.replace('$dealId', id);

/** Where the person chooses notifications. */
export const notificationChoicesPath: PagePath = paths.notificationChoices;

/** All notifications of the person. */
export const notificationsPath: PagePath = paths.notifications;

/** What the service does by itself, for admins. */
export const statusPath: PagePath = paths.status;

/** The pipeline: every deal that the person sees. */
export const dealsPath: PagePath = paths.deals;

/** A page of a deal. */
export type DealPage = keyof typeof dealPages;

/** Where this page of a deal is. */
export const dealPagePath = (page: DealPage, dealId: string): string => dealPages[page].replace('$dealId', dealId);

const notificationPages = { ...dealPages, ...accountPages } satisfies Record<NotificationPlace, PagePath>;

/** The page of an event on a deal, or (null) of the person's account. */
export function notificationPath(place: NotificationPlace, dealId: string | null): string {
  const path = notificationPages[place];
  if (dealId !== null) return path.replace('$dealId', dealId);
  return path.includes('$') ? paths.home : path;
}
