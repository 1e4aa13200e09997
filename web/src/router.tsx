/** Every page and its path. A page is a file of its own in routes/, fetched when somebody goes or is about to go there. */
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import type { QueryClient } from '@tanstack/react-query';
import { signInWaysQuery } from './api/auth.ts';
import { ApiError } from './api/client.ts';
import { dealQuery, dealsQuery } from './api/deals.ts';
import { homeQuery } from './api/home.ts';
import { meQuery } from './api/me.ts';
import { queryClient } from './api/query-client.ts';
import { readContactsSearch } from './routes/contacts/search.ts';
import { readDealsSearch } from './routes/deals/search.ts';
import { safeReturnPath } from './lib/return-path.ts';
import { paths } from './paths.ts';
import { AppShell } from './shell/app-shell.tsx';
import { EntrancePages } from './shell/entrance.tsx';
import { LoneNotFound, LonePageFault, NotFound, PageFault, PagePending } from './shell/fallbacks.tsx';
import { Root } from './shell/root.tsx';

const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Root,
  notFoundComponent: LoneNotFound,
  errorComponent: LonePageFault,
});

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Where a page leads that is in the way of another: a path of our own, or nothing. */
const readReturn = (search: Record<string, unknown>): { return_to?: string } => {
  const path = text(search.return_to);
  return path === undefined ? {} : { return_to: safeReturnPath(path) };
};

/** The path of a page as its frame has it: what follows the frame's own. */
const below = <F extends string, P extends `${F}/${string}`>(frame: F, path: P) =>
  path.slice(frame.length) as P extends `${F}${infer Rest}` ? Rest : never;
const inDeal = <P extends `${typeof paths.deal}/${string}`>(path: P) => below(paths.deal, path);
const inSettings = <P extends `${typeof paths.settings}/${string}`>(path: P) => below(paths.settings, path);

// For whoever is not signed in ---------------------------------------------------------------------------------------

const entrance = createRoute({
  getParentRoute: () => rootRoute,
  id: 'entrance',
  component: EntrancePages,
});

const signIn = createRoute({
  getParentRoute: () => entrance,
  path: paths.signIn,
  validateSearch: readReturn,
  loader: ({ context }) => void context.queryClient.prefetchQuery(signInWaysQuery),
  component: lazyRouteComponent(() => import('./routes/sign-in.tsx')),
});

const reauthenticate = createRoute({
  getParentRoute: () => entrance,
  path: paths.reauthenticate,
  validateSearch: readReturn,
  component: lazyRouteComponent(() => import('./routes/re-authenticate.tsx')),
});

const signOut = createRoute({
  getParentRoute: () => entrance,
  path: paths.signOut,
  validateSearch: readReturn,
  component: lazyRouteComponent(() => import('./routes/sign-out.tsx')),
});

const reset = createRoute({
  getParentRoute: () => entrance,
  path: paths.reset,
  component: lazyRouteComponent(() => import('./routes/reset.tsx')),
});

const resetByLink = createRoute({
  getParentRoute: () => entrance,
  path: paths.newPassword,
  component: lazyRouteComponent(() => import('./routes/reset.tsx')),
});

const setUp = createRoute({
  getParentRoute: () => entrance,
  path: paths.setUp,
  component: lazyRouteComponent(() => import('./routes/set-up.tsx')),
});

const acceptInvitation = createRoute({
  getParentRoute: () => entrance,
  path: paths.acceptInvitation,
  component: lazyRouteComponent(() => import('./routes/accept-invitation.tsx')),
});

// For whoever is -----------------------------------------------------------------------------------------------------

const app = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(meQuery);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: paths.signIn, search: location.href === '/' ? {} : { return_to: location.href } });
    }
  },
  component: AppShell,
  errorComponent: LonePageFault,
  notFoundComponent: () => <NotFound />,
});

const home = createRoute({
  getParentRoute: () => app,
  path: paths.home,
  loader: ({ context }) => void context.queryClient.prefetchQuery(homeQuery),
  component: lazyRouteComponent(() => import('./routes/home.tsx')),
});

const deals = createRoute({
  getParentRoute: () => app,
  path: paths.deals,
  validateSearch: readDealsSearch,
  loaderDeps: ({ search: { new: _new, ...filter } }) => filter,
  loader: ({ context, deps }) => void context.queryClient.prefetchInfiniteQuery(dealsQuery(deps)),
  component: lazyRouteComponent(() => import('./routes/deals/deals.tsx')),
});

const deal = createRoute({
  getParentRoute: () => app,
  path: paths.deal,
  loader: ({ context, params }) => void context.queryClient.prefetchQuery(dealQuery(params.dealId)),
  component: lazyRouteComponent(() => import('./routes/deals/frame.tsx')),
});

const dealTabs = deal.addChildren([
  createRoute({
    getParentRoute: () => deal,
    path: '/',
    // What waits stands at the top of the overview: asked for with the deal, it pushes nothing down later.
    loader: ({ context }) => void context.queryClient.prefetchQuery(homeQuery),
    component: lazyRouteComponent(() => import('./routes/deals/overview/overview.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealNda),
    component: lazyRouteComponent(() => import('./routes/deals/nda/nda.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealDocuments),
    component: lazyRouteComponent(() => import('./routes/deals/documents/documents.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealQuestions),
    component: lazyRouteComponent(() => import('./routes/deals/questions/questions.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealQoe),
    component: lazyRouteComponent(() => import('./routes/deals/qoe/qoe.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealOffers),
    component: lazyRouteComponent(() => import('./routes/deals/offers/offers.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealClosing),
    component: lazyRouteComponent(() => import('./routes/deals/closing/closing.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealFindings),
    component: lazyRouteComponent(() => import('./routes/deals/findings/findings.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealFinancing),
    component: lazyRouteComponent(() => import('./routes/deals/financing/financing.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealPeople),
    component: lazyRouteComponent(() => import('./routes/deals/people/people.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: inDeal(paths.dealActivity),
    component: lazyRouteComponent(() => import('./routes/deals/activity/activity.tsx')),
  }),
  // Any other address: the frame says that there is nothing, as of a tab that is not open to the person.
  createRoute({ getParentRoute: () => deal, path: '/$' }),
]);

const confirmAddress = createRoute({
  getParentRoute: () => app,
  path: paths.confirmAddress,
  component: lazyRouteComponent(() => import('./routes/confirm-address.tsx')),
});

const contacts = createRoute({
  getParentRoute: () => app,
  path: paths.contacts,
  validateSearch: readContactsSearch,
  component: lazyRouteComponent(() => import('./routes/contacts/contacts.tsx')),
});

const notifications = createRoute({
  getParentRoute: () => app,
  path: paths.notifications,
  component: lazyRouteComponent(() => import('./routes/notifications/notifications.tsx')),
});

const settings = createRoute({
  getParentRoute: () => app,
  path: paths.settings,
  component: lazyRouteComponent(() => import('./routes/settings/frame.tsx')),
  notFoundComponent: () => <NotFound level={2} />,
});

const settingsPages = settings.addChildren([
  // Where a tool's refusal sends the person: to allow it for one client, or on one deal.
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.clientTools),
    beforeLoad: ({ params }) => {
      throw redirect({ to: paths.tools, search: { client: params.clientId }, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.dealTools),
    beforeLoad: ({ params }) => {
      throw redirect({ to: paths.deal, params, hash: 'assistants', replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: paths.profile, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.profile),
    component: lazyRouteComponent(() => import('./routes/settings/profile/profile.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.security),
    component: lazyRouteComponent(() => import('./routes/settings/security/security.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.notificationChoices),
    component: lazyRouteComponent(() => import('./routes/settings/notifications/notifications.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.brokerage),
    component: lazyRouteComponent(() => import('./routes/settings/brokerage/brokerage.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.members),
    component: lazyRouteComponent(() => import('./routes/settings/members/members.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.keys),
    component: lazyRouteComponent(() => import('./routes/settings/keys/keys.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.clients),
    component: lazyRouteComponent(() => import('./routes/settings/clients/clients.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.tools),
    validateSearch: (search): { client?: string } => {
      const client = text(search.client);
      return client === undefined ? {} : { client };
    },
    component: lazyRouteComponent(() => import('./routes/settings/tools/tools.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: inSettings(paths.audit),
    component: lazyRouteComponent(() => import('./routes/settings/audit/audit.tsx')),
  }),
]);

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    entrance.addChildren([signIn, reauthenticate, signOut, reset, resetByLink, setUp, acceptInvitation]),
    app.addChildren([home, deals, dealTabs, contacts, notifications, confirmAddress, settingsPages]),
  ]),
  context: { queryClient },
  defaultPreload: 'intent',
  // Queries decide what is fresh; the router asks them each time.
  defaultPreloadStaleTime: 0,
  defaultPendingMs: 150,
  defaultPendingComponent: PagePending,
  defaultErrorComponent: PageFault,
  defaultNotFoundComponent: () => <NotFound />,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
