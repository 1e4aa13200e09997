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

// For whoever is not signed in ---------------------------------------------------------------------------------------

const entrance = createRoute({
  getParentRoute: () => rootRoute,
  id: 'entrance',
  component: EntrancePages,
});

const signIn = createRoute({
  getParentRoute: () => entrance,
  path: '/sign-in',
  validateSearch: (search): { return_to?: string } => {
    const path = text(search.return_to);
    return path === undefined ? {} : { return_to: safeReturnPath(path) };
  },
  loader: ({ context }) => void context.queryClient.prefetchQuery(signInWaysQuery),
  component: lazyRouteComponent(() => import('./routes/sign-in.tsx')),
});

const reset = createRoute({
  getParentRoute: () => entrance,
  path: '/reset',
  component: lazyRouteComponent(() => import('./routes/reset.tsx')),
});

const resetByLink = createRoute({
  getParentRoute: () => entrance,
  path: '/reset/new',
  component: lazyRouteComponent(() => import('./routes/reset.tsx')),
});

const setUp = createRoute({
  getParentRoute: () => entrance,
  path: '/set-up',
  component: lazyRouteComponent(() => import('./routes/set-up.tsx')),
});

const acceptInvitation = createRoute({
  getParentRoute: () => entrance,
  path: '/accept-invitation',
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
      throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { return_to: location.href } });
    }
  },
  component: AppShell,
  errorComponent: LonePageFault,
  notFoundComponent: () => <NotFound />,
});

const home = createRoute({
  getParentRoute: () => app,
  path: '/',
  loader: ({ context }) => void context.queryClient.prefetchQuery(homeQuery),
  component: lazyRouteComponent(() => import('./routes/home.tsx')),
});

const deals = createRoute({
  getParentRoute: () => app,
  path: '/deals',
  validateSearch: readDealsSearch,
  loaderDeps: ({ search: { new: _new, ...filter } }) => filter,
  loader: ({ context, deps }) => void context.queryClient.prefetchInfiniteQuery(dealsQuery(deps)),
  component: lazyRouteComponent(() => import('./routes/deals/deals.tsx')),
});

const deal = createRoute({
  getParentRoute: () => app,
  path: '/deals/$dealId',
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
    path: '/nda',
    component: lazyRouteComponent(() => import('./routes/deals/nda/nda.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/documents',
    component: lazyRouteComponent(() => import('./routes/deals/documents/documents.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/questions',
    component: lazyRouteComponent(() => import('./routes/deals/questions/questions.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/qoe',
    component: lazyRouteComponent(() => import('./routes/deals/qoe/qoe.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/offers',
    component: lazyRouteComponent(() => import('./routes/deals/offers/offers.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/closing',
    component: lazyRouteComponent(() => import('./routes/deals/closing/closing.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/findings',
    component: lazyRouteComponent(() => import('./routes/deals/findings/findings.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/financing',
    component: lazyRouteComponent(() => import('./routes/deals/financing/financing.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/people',
    component: lazyRouteComponent(() => import('./routes/deals/people/people.tsx')),
  }),
  createRoute({
    getParentRoute: () => deal,
    path: '/activity',
    component: lazyRouteComponent(() => import('./routes/deals/activity/activity.tsx')),
  }),
  // Any other address: the frame says that there is nothing, as of a tab that is not open to the person.
  createRoute({ getParentRoute: () => deal, path: '/$' }),
]);

const confirmAddress = createRoute({
  getParentRoute: () => app,
  path: '/confirm-address',
  component: lazyRouteComponent(() => import('./routes/confirm-address.tsx')),
});

const contacts = createRoute({
  getParentRoute: () => app,
  path: '/contacts',
  validateSearch: readContactsSearch,
  component: lazyRouteComponent(() => import('./routes/contacts/contacts.tsx')),
});

const settings = createRoute({
  getParentRoute: () => app,
  path: '/settings',
  component: lazyRouteComponent(() => import('./routes/settings/frame.tsx')),
  notFoundComponent: () => <NotFound level={2} />,
});

const settingsPages = settings.addChildren([
  // Where a tool's refusal sends the person: to allow it for one client, or on one deal.
  createRoute({
    getParentRoute: () => settings,
    path: '/clients/$clientId/tools',
    beforeLoad: ({ params }) => {
      throw redirect({ to: '/settings/tools', search: { client: params.clientId }, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/deals/$dealId/tools',
    beforeLoad: ({ params }) => {
      throw redirect({ to: '/deals/$dealId', params, hash: 'assistants', replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/settings/profile', replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/profile',
    component: lazyRouteComponent(() => import('./routes/settings/profile/profile.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/security',
    component: lazyRouteComponent(() => import('./routes/settings/security/security.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/brokerage',
    component: lazyRouteComponent(() => import('./routes/settings/brokerage/brokerage.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/members',
    component: lazyRouteComponent(() => import('./routes/settings/members/members.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/keys',
    component: lazyRouteComponent(() => import('./routes/settings/keys/keys.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/clients',
    component: lazyRouteComponent(() => import('./routes/settings/clients/clients.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/tools',
    validateSearch: (search): { client?: string } => {
      const client = text(search.client);
      return client === undefined ? {} : { client };
    },
    component: lazyRouteComponent(() => import('./routes/settings/tools/tools.tsx')),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/audit',
    component: lazyRouteComponent(() => import('./routes/settings/audit/audit.tsx')),
  }),
]);

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    entrance.addChildren([signIn, reset, resetByLink, setUp, acceptInvitation]),
    app.addChildren([home, deals, dealTabs, contacts, confirmAddress, settingsPages]),
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
