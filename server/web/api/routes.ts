/** The JSON routes of the web application, below /api/web: the data of its pages, and the changes that they make. */

import { Hono } from 'hono';
import type { Services } from '../../services.ts';
import type { TakenDocuments } from '../../domain/clients/connected-clients.ts';
import type { ToolFacts } from '../../domain/clients/tool-grants.ts';
import { compressJson } from '../../http/compression.ts';
import { csrfGuardWith } from '../../http/csrf.ts';
import { nothingThere, problemHandler } from '../../http/problem.ts';
import { signedOut } from '../../http/person.ts';
import { activityRoutes } from './activity.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { auditRoutes } from './audit.ts';
import { brokerageExportRoutes } from './brokerage-export.ts';
import { brokerageRoutes } from './brokerages.ts';
import { conditionRoutes } from './conditions.ts';
import { connectedClientRoutes } from './connected-clients.ts';
import { contactRoutes } from './contacts.ts';
import { dealOptInRoutes } from './deal-opt-ins.ts';
import { dealRoutes } from './deals.ts';
import { documentRoutes } from './documents.ts';
import { eventRoutes } from './events.ts';
import { financingRoutes } from './financing.ts';
import { findingRoutes } from './findings.ts';
import { handoverRoutes } from './handovers.ts';
import { homeRoutes } from './home.ts';
import { keyAdmissionRoutes } from './key-admission.ts';
import { limitPages } from './limits.ts';
import { logoRoutes } from './logos.ts';
import { meRoutes } from './me.ts';
import { ndaRoutes } from './ndas.ts';
import { notificationRoutes } from './notifications.ts';
import { offerRoutes } from './offers.ts';
import { participantRoutes } from './participants.ts';
import { answerProblem } from './problems.ts';
import { qoeImportRoutes } from './qoe-import.ts';
import { qoeRoutes } from './qoe.ts';
import { questionRoutes } from './questions.ts';
import { reminderRoutes } from './reminders.ts';
import { reportRoutes } from './reports/reports.ts';
import { statusRoutes } from './status.ts';
import { toolRoutes } from './tools.ts';
import { visitRoutes } from './visits.ts';
import { webhookRoutes } from './webhooks.ts';

/** All routes, behind the CSRF guard; no response may be cached. The pages' client is derived from the return type. */
export function apiRoutes(services: Services, tools: readonly ToolFacts[], isTaken: TakenDocuments) {
  const routes = new Hono();
  routes.use(async (c, next) => {
    await next();
    c.header('Cache-Control', 'no-store');
  });
  // Of all that is read here, only /me holds secrets: the CSRF token, and the key of drafts.
  routes.use(compressJson('/api/web/me'));
  routes.use(limitPages(services));
  // A request's session is verified before the first byte of its body is read, on every route.
  routes.use(csrfGuardWith((c) => answerProblem(c, signedOut())));

  routes.notFound((c) => answerProblem(c, nothingThere()));
  routes.onError(problemHandler(services.log, answerProblem));
  return routes
    .route('/', meRoutes(services))
    .route('/', eventRoutes(services))
    .route('/', homeRoutes(services))
    .route('/', dealRoutes(services))
    .route('/', participantRoutes(services))
    .route('/', ndaRoutes(services))
    .route('/', documentRoutes(services))
    .route('/', offerRoutes(services))
    .route('/', conditionRoutes(services))
    .route('/', questionRoutes(services))
    .route('/', qoeRoutes(services))
    .route('/', qoeImportRoutes(services))
    .route('/', reportRoutes(services))
    .route('/', findingRoutes(services))
    .route('/', contactRoutes(services))
    .route('/', brokerageRoutes(services))
    .route('/', handoverRoutes(services))
    .route('/', brokerageExportRoutes(services))
    .route('/', logoRoutes(services))
    .route('/', statusRoutes(services))
    .route('/', apiKeyRoutes(services))
    .route('/', webhookRoutes(services))
    .route('/', connectedClientRoutes(services, isTaken))
    .route('/', toolRoutes(services, tools))
    .route('/', auditRoutes(services, tools))
    .route('/', financingRoutes(services))
    .route('/', activityRoutes(services))
    .route('/', notificationRoutes(services))
    .route('/', reminderRoutes(services))
    .route('/', visitRoutes(services))
    .route('/', dealOptInRoutes(services))
    .route('/', keyAdmissionRoutes(services));
}

/** The type of the routes with their inputs and outputs, for server/contract.ts. */
export type ApiRoutes = ReturnType<typeof apiRoutes>;
