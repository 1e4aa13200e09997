/**
 * The path of every page, `$name` for a segment that is the id of something. The router makes its routes of them, those of
 * the tabs of a deal and of the settings with the page in the folder of that name. The server knows from here where a browser
 * gets the application and where its links lead: nothing of React is imported.
 */
export const paths = {
  signIn: '/sign-in',
  reauthenticate: '/re-authenticate',
  signOut: '/sign-out',
  reset: '/reset',
  newPassword: '/reset/new',
  setUp: '/set-up',
  acceptInvitation: '/accept-invitation',
  confirmAddress: '/confirm-address',

  home: '/',
  deals: '/deals',
  deal: '/deals/$dealId',
  dealNda: '/deals/$dealId/nda',
  dealDocuments: '/deals/$dealId/documents',
  dealQuestions: '/deals/$dealId/questions',
  dealQoe: '/deals/$dealId/qoe',
  dealOffers: '/deals/$dealId/offers',
  dealClosing: '/deals/$dealId/closing',
  dealFindings: '/deals/$dealId/findings',
  dealFinancing: '/deals/$dealId/financing',
  dealPeople: '/deals/$dealId/people',
  dealActivity: '/deals/$dealId/activity',
  contacts: '/contacts',
  notifications: '/notifications',

  settings: '/settings',
  profile: '/settings/profile',
  security: '/settings/security',
  notificationChoices: '/settings/notifications',
  brokerage: '/settings/brokerage',
  members: '/settings/members',
  keys: '/settings/keys',
  webhooks: '/settings/webhooks',
  assistants: '/settings/assistants',
  clients: '/settings/clients',
  clientTools: '/settings/clients/$clientId/tools',
  tools: '/settings/tools',
  dealTools: '/settings/deals/$dealId/tools',
  audit: '/settings/audit',
  status: '/settings/status',
} as const;

export type PagePath = (typeof paths)[keyof typeof paths];

/** The pages of a deal that mails, notifications and answers of tools lead to. */
export const dealPages = {
  deal: paths.deal,
  questions: paths.dealQuestions,
  nda: paths.dealNda,
  documents: paths.dealDocuments,
  qoe: paths.dealQoe,
  offers: paths.dealOffers,
  closing: paths.dealClosing,
  findings: paths.dealFindings,
  financing: paths.dealFinancing,
  people: paths.dealPeople,
} as const;

/** The pages of one's account that mails and notifications lead to. */
export const accountPages = { clients: paths.clients, keys: paths.keys, security: paths.security } as const;

/** The pages with pages below them. What is not among those, their frames say themselves. */
export const frames = [paths.deal, paths.settings] as const;
