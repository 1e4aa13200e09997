/** The URLs of the application's pages to which the server links, built from the paths of its router. */

import { accountPages, dealPages, frames, paths, type PagePath } from '../../web/src/paths.ts';
import type { NotificationPlace } from '../domain/notifications/kinds.ts';

const pattern = (path: PagePath): string => path.replaceAll('$', ':');

/** The paths at which a browser gets the application, in Hono's notation. */
export const applicationPaths: readonly string[] = [
  ...Object.values(paths).map(pattern),
  ...frames.map((frame) => `${pattern(frame)}/:page`),
];

/**
 * A link with a one-time token that reaches a person outside the browser: in a mail, or from the command line. The
 * token is in the fragment, which a browser never sends: no log, proxy or Referer sees it. The page reads it from there
 * and sends it in the body of a request.
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

/** A page that leads to `back`, a path on our own origin, when it is finished; the page validates the path itself. */
function returning(path: PagePath) {
  return (back: string): string => `${path}?${new URLSearchParams({ return_to: back })}`;
}

/** Sign-in. */
export const signInPath = returning(paths.signIn);

/** Confirming again who is signed in. */
export const reauthenticatePath = returning(paths.reauthenticate);

/** Signing out, and signing in as another person. */
export const signOutPath = returning(paths.signOut);

/** The pages that may come between an authorization request and the consent page. */
export const pagesBeforeConsent: readonly PagePath[] = [paths.signIn, paths.reauthenticate, paths.signOut];

/** Security settings of the person's account. */
export const securityPath: PagePath = paths.security;
export const brokeragePath: PagePath = paths.brokerage;
/** The webhooks of the brokerage. */
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

/** Status of the service, for admins. */
export const statusPath: PagePath = paths.status;

/** The pipeline: every deal that the person sees. */
export const dealsPath: PagePath = paths.deals;

/** A page of a deal. */
export type DealPage = keyof typeof dealPages;

/** The path of this page of a deal. */
export const dealPagePath = (page: DealPage, dealId: string): string => dealPages[page].replace('$dealId', dealId);

const notificationPages = { ...dealPages, ...accountPages } satisfies Record<NotificationPlace, PagePath>;

/**
 * The page for a notification: of an event on a deal, or, with null, on the person's account. The page of API keys shows
 * those of `brokerage`.
 */
export function notificationPath(place: NotificationPlace, dealId: string | null, brokerage?: { id: string }): string {
  const path = notificationPages[place];
  if (dealId !== null) return path.replace('$dealId', dealId);
  if (place === 'keys' && brokerage) return `${path}?${new URLSearchParams({ brokerage: brokerage.id })}`;
  return path.includes('$') ? paths.home : path;
}
