/**
 * The path of every page; `$name` is a segment with the id of something. The router builds its routes from them; for
 * the tabs of a deal and the settings, the page is in the folder of the same name. The server takes from here the paths
 * at which a browser gets the application and the targets of its links, so nothing of React may be imported.
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

/** The pages of a deal to which mails, notifications and tool results link. */
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

/** The pages of no deal to which mails and notifications link. */
export const accountPages = {
  deals: paths.deals,
  clients: paths.clients,
  keys: paths.keys,
  webhooks: paths.webhooks,
  security: paths.security,
} as const;

/** The pages that frame pages below them. The frames handle unknown paths below them themselves. */
export const frames = [paths.deal, paths.settings] as const;
