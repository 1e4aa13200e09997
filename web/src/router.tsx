/**
 * The routes of all pages. Each page is in a file of its own in routes/, fetched when a person opens it or is about to.
 * The tabs of a deal and the settings pages, each a `page.tsx` in a folder of its own, get their routes from their
 * paths.
 */
import type { ComponentType } from 'react';
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
import { homeQuery, pipelineQuery } from './api/home.ts';
import { chooseBrokerage, meQuery } from './api/me.ts';
import type { Me } from './api/shapes.ts';
import { assessmentQuery, offersQuery } from './api/offers.ts';
import { prefetchQoe } from './api/qoe.ts';
import { queryClient } from './api/query-client.ts';
import { readContactsSearch } from './routes/contacts/search.ts';
import { readOffersSearch, typedIn } from './routes/deals/offers/search.ts';
import { readDocumentsSearch } from './routes/deals/documents/search.ts';
import { readDealsSearch } from './routes/deals/search.ts';
import { fetchPart } from './lib/parts.ts';
import { safeReturnPath } from './lib/return-path.ts';
import { isUuid } from './lib/uuid.ts';
import { paths, type PagePath } from './paths.ts';
import { AppShell } from './shell/app-shell.tsx';
import { SignedOutPages } from './shell/signed-out-layout.tsx';
import { LoneNotFound, LonePageFault, NotFound, PageFault, PagePending } from './shell/fallbacks.tsx';
import { Root } from './shell/root.tsx';

const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Root,
  notFoundComponent: LoneNotFound,
  errorComponent: LonePageFault,
});

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The page to return to after this one: a path on our own origin, or none. */
const readReturn = (search: Record<string, unknown>): { return_to?: string } => {
  const path = text(search.return_to);
  return path === undefined ? {} : { return_to: safeReturnPath(path) };
};

type PathBelow<F extends string> = Extract<PagePath, `${F}/${string}`>;

/** The path of a page relative to its frame. */
const below = <F extends string, P extends `${F}/${string}`>(frame: F, path: P) =>
  path.slice(frame.length) as P extends `${F}${infer Rest}` ? Rest : never;

/** The paths below a frame whose routes need nothing but their page. */
const plainBelow = <F extends PagePath, S extends PagePath>(frame: F, ...special: readonly S[]) =>
  Object.values(paths).filter(
    (path): path is Exclude<PathBelow<F>, S> =>
      path.startsWith(`${frame}/`) && !(special as readonly string[]).includes(path),
  );

const eachOf = <P extends string>(its: readonly P[], routeAt: (path: P) => object) =>
  Object.fromEntries(its.map((path) => [path, routeAt(path)]));

/** Whether somebody is on their way to a page; not when a link is only pointed at, whose page is fetched in advance. */
function isUnderWay(): boolean {
  return router.state.status === 'pending';
}

/**
 * A page in a file of its own. `fetchPart` replaces the browser's error when the file cannot be fetched, since the
 * router would reload the document on that error.
 */
const pageIn = (load: () => Promise<{ default: ComponentType }>) =>
  lazyRouteComponent(() => fetchPart(load, isUnderWay));

const pages = import.meta.glob<{ default: ComponentType }>('./routes/*/*/page.tsx');

/** The page in the folder that is named like its path. */
function pageAt(path: PathBelow<typeof paths.deal | typeof paths.settings>) {
  const file = `./routes${path.replace('/$dealId', '')}/page.tsx`;
  const load = pages[file];
  if (load === undefined) throw new Error(`${path} has no page: there is no ${file}.`);
  return pageIn(load);
}

// For visitors who are not signed in ---------------------------------------------------------------------------------------

const entrance = createRoute({
  getParentRoute: () => rootRoute,
  id: 'entrance',
  component: SignedOutPages,
});

const signIn = createRoute({
  getParentRoute: () => entrance,
  path: paths.signIn,
  validateSearch: readReturn,
  loader: ({ context }) => void context.queryClient.prefetchQuery(signInWaysQuery),
  component: pageIn(() => import('./routes/sign-in.tsx')),
});

const reauthenticate = createRoute({
  getParentRoute: () => entrance,
  path: paths.reauthenticate,
  validateSearch: readReturn,
  component: pageIn(() => import('./routes/re-authenticate.tsx')),
});

const signOut = createRoute({
  getParentRoute: () => entrance,
  path: paths.signOut,
  validateSearch: readReturn,
  component: pageIn(() => import('./routes/sign-out.tsx')),
});

const reset = createRoute({
  getParentRoute: () => entrance,
  path: paths.reset,
  component: pageIn(() => import('./routes/reset.tsx')),
});

const resetByLink = createRoute({
  getParentRoute: () => entrance,
  path: paths.newPassword,
  component: pageIn(() => import('./routes/reset.tsx')),
});

const setUp = createRoute({
  getParentRoute: () => entrance,
  path: paths.setUp,
  component: pageIn(() => import('./routes/set-up.tsx')),
});

const acceptInvitation = createRoute({
  getParentRoute: () => entrance,
  path: paths.acceptInvitation,
  component: pageIn(() => import('./routes/accept-invitation.tsx')),
});

// For people who are signed in -----------------------------------------------------------------------------------------------------

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
  loader: ({ context: { queryClient: client } }) => {
    void client.prefetchQuery(homeQuery);
    void client.prefetchQuery(pipelineQuery);
  },
  component: pageIn(() => import('./routes/home.tsx')),
});

const deals = createRoute({
  getParentRoute: () => app,
  path: paths.deals,
  validateSearch: readDealsSearch,
  loaderDeps: ({ search: { new: _new, ...filter } }) => filter,
  loader: ({ context, deps }) => void context.queryClient.prefetchInfiniteQuery(dealsQuery(deps)),
  component: pageIn(() => import('./routes/deals/deals.tsx')),
});

const deal = createRoute({
  getParentRoute: () => app,
  path: paths.deal,
  loader: ({ context, params }) => void context.queryClient.prefetchQuery(dealQuery(params.dealId)),
  component: pageIn(() => import('./routes/deals/frame.tsx')),
});

/** What the person may do on a deal that was shown before. */
const capacitiesOn = (dealId: string) => queryClient.getQueryData(dealQuery(dealId).queryKey)?.capacities;

const tab = <P extends PathBelow<typeof paths.deal>>(path: P) =>
  createRoute({ getParentRoute: () => deal, path: below(paths.deal, path), component: pageAt(path) });

const dealTabs = deal.addChildren({
  ...(eachOf(plainBelow(paths.deal, paths.dealOffers, paths.dealQoe, paths.dealDocuments), tab) as {
    [
      P in Exclude<
        PathBelow<typeof paths.deal>,
        typeof paths.dealOffers | typeof paths.dealQoe | typeof paths.dealDocuments
      >
    ]: ReturnType<typeof tab<P>>;
  }),
  documents: createRoute({
    getParentRoute: () => deal,
    path: below(paths.deal, paths.dealDocuments),
    validateSearch: readDocumentsSearch,
    component: pageAt(paths.dealDocuments),
  }),
  // What these two show is requested with their files by those who may see it, as far as the deal is known by then; only
  // the list of offers also for somebody who points at the link.
  offers: createRoute({
    getParentRoute: () => deal,
    path: below(paths.deal, paths.dealOffers),
    validateSearch: readOffersSearch,
    loaderDeps: ({ search }) => typedIn(search),
    loader: ({ context: { queryClient: client }, params: { dealId }, deps, preload }) => {
      if (!capacitiesOn(dealId)?.can_see_offers) return;
      void client.prefetchInfiniteQuery(offersQuery(dealId));
      if (!preload) void client.prefetchQuery(assessmentQuery(dealId, deps));
    },
    component: pageAt(paths.dealOffers),
  }),
  qoe: createRoute({
    getParentRoute: () => deal,
    path: below(paths.deal, paths.dealQoe),
    loader: ({ context, params, preload }) => {
      if (!preload && capacitiesOn(params.dealId)?.can_read_qoe) prefetchQoe(context.queryClient, params.dealId);
    },
    component: pageAt(paths.dealQoe),
  }),
  overview: createRoute({
    getParentRoute: () => deal,
    path: '/',
    // The overview starts with the list of waiting items: loaded with the deal, the list does not shift the page later.
    loader: ({ context }) => void context.queryClient.prefetchQuery(homeQuery),
    component: pageIn(() => import('./routes/deals/overview/page.tsx')),
  }),
  // Any other path: the frame says that there is nothing, as it does for a tab that the person may not open.
  other: createRoute({ getParentRoute: () => deal, path: '/$' }),
});

const confirmAddress = createRoute({
  getParentRoute: () => app,
  path: paths.confirmAddress,
  component: pageIn(() => import('./routes/confirm-address.tsx')),
});

const contacts = createRoute({
  getParentRoute: () => app,
  path: paths.contacts,
  validateSearch: readContactsSearch,
  component: pageIn(() => import('./routes/contacts/contacts.tsx')),
});

const notifications = createRoute({
  getParentRoute: () => app,
  path: paths.notifications,
  component: pageIn(() => import('./routes/notifications/notifications.tsx')),
});

const settings = createRoute({
  getParentRoute: () => app,
  path: paths.settings,
  component: pageIn(() => import('./routes/settings/frame.tsx')),
  notFoundComponent: () => <NotFound level={2} />,
});

const { audit, tools, clientTools, dealTools } = paths;
type PlainSettings = Exclude<
  PathBelow<typeof paths.settings>,
  typeof paths.keys | typeof audit | typeof tools | typeof clientTools | typeof dealTools
>;
const settingsPage = <P extends PlainSettings>(path: P) =>
  createRoute({ getParentRoute: () => settings, path: below(paths.settings, path), component: pageAt(path) });

const settingsPages = settings.addChildren({
  ...(eachOf(plainBelow(paths.settings, paths.keys, audit, tools, clientTools, dealTools), settingsPage) as {
    [P in PlainSettings]: ReturnType<typeof settingsPage<P>>;
  }),
  first: createRoute({
    getParentRoute: () => settings,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: paths.profile, replace: true });
    },
  }),
  keys: createRoute({
    getParentRoute: () => settings,
    path: below(paths.settings, paths.keys),
    validateSearch: (search): { brokerage?: string } => {
      const brokerage = text(search.brokerage);
      return brokerage === undefined ? {} : { brokerage };
    },
    // The link of a notification about a key: shows the keys of that brokerage, whichever was chosen in this browser.
    beforeLoad: ({ context, search: { brokerage }, preload }) => {
      if (brokerage === undefined || preload) return;
      const me: Me | undefined = context.queryClient.getQueryData(meQuery.queryKey);
      if (me?.memberships.some(({ brokerage_id }) => brokerage_id === brokerage)) chooseBrokerage(brokerage);
      throw redirect({ to: paths.keys, search: {}, replace: true });
    },
    component: pageAt(paths.keys),
  }),
  audit: createRoute({
    getParentRoute: () => settings,
    path: below(paths.settings, audit),
    validateSearch: (search): { deal?: string } => (isUuid(search.deal) ? { deal: search.deal } : {}),
    component: pageAt(audit),
  }),
  tools: createRoute({
    getParentRoute: () => settings,
    path: below(paths.settings, tools),
    validateSearch: (search): { client?: string } => {
      const client = text(search.client);
      return client === undefined ? {} : { client };
    },
    component: pageAt(tools),
  }),
  // The links in a tool's refusal: to allow the tool for one client, or on one deal.
  clientTools: createRoute({
    getParentRoute: () => settings,
    path: below(paths.settings, clientTools),
    beforeLoad: ({ params }) => {
      throw redirect({ to: tools, search: { client: params.clientId }, replace: true });
    },
  }),
  dealTools: createRoute({
    getParentRoute: () => settings,
    path: below(paths.settings, dealTools),
    beforeLoad: ({ params }) => {
      throw redirect({ to: paths.deal, params, hash: 'assistants', replace: true });
    },
  }),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    entrance.addChildren([signIn, reauthenticate, signOut, reset, resetByLink, setUp, acceptInvitation]),
    app.addChildren([home, deals, dealTabs, contacts, notifications, confirmAddress, settingsPages]),
  ]),
  context: { queryClient },
  defaultPreload: 'intent',
  // Queries decide which data is fresh; the router asks them on each navigation.
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
