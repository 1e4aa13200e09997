/** Moves on connected clients: for each, the rule from the documentation, and the statements that the server sends. */

import { createClient, deleteClient, shareClient } from '../../server/domain/clients/connected-clients.ts';
import { optInDeal, optOutDeal, stopDealTools } from '../../server/domain/clients/deal-opt-ins.ts';
import { grantTool, withdrawTool } from '../../server/domain/clients/tool-grants.ts';
import { actsAs, isMember, seesClient, seesDeal } from './rules.ts';
import type { Id, World } from './world.ts';
import { type Make, origin, pick, dealName, withDeal } from './step.ts';

const worksFor = (w: World, client: World['clients'][number], person: Id): boolean => seesClient(w, person, client);

/** Moves on connected clients and their grants. */
export const ofClients: Readonly<Record<string, Make>> = {
  connectClient: (w, step, me) => {
    if (w.clients.filter(({ creator }) => creator === me).length >= 3) return null;
    return {
      says: 'makes a client',
      sends: [createClient({ name: `Client ${step.a}`, redirectUris: ['https://client.example/callback'] }, origin)],
      may: true,
      makes: ['connected_clients'],
      happens: (id) => void w.clients.push({ id: id!, creator: me, brokerage: null, deleted: false }),
    };
  },

  shareClient: (w, step, me) => {
    const client = pick(w.clients, step.a);
    if (!client) return null;
    const brokerage = step.b % 3 === 0 ? null : pick(w.brokerages, step.b)!;
    const admins = (of: Id | null) => of !== null && isMember(w, me, of, 'admin');
    // The creator manages a client until it is shared; the brokerage's admins manage a shared client.
    const manages = client.brokerage === null ? client.creator === me : admins(client.brokerage);
    return {
      says: `shares client ${w.clients.indexOf(client)} with ${brokerage ? `b${w.brokerages.indexOf(brokerage)}` : 'nobody'}`,
      sends: [shareClient(client.id, brokerage, origin)],
      may: !client.deleted && manages && (brokerage === null ? client.creator === me : admins(brokerage)),
      happens() {
        // When sharing with the brokerage ends, everybody's grants end except the creator's.
        if (client.brokerage !== null && client.brokerage !== brokerage)
          w.grants = w.grants.filter((grant) => grant.client !== client || grant.person === client.creator);
        client.brokerage = brokerage;
      },
    };
  },

  deleteClient: (w, step, me) => {
    const client = pick(w.clients, step.a);
    if (!client) return null;
    return {
      says: `deletes client ${w.clients.indexOf(client)}`,
      sends: [deleteClient(client.id, origin)],
      may:
        !client.deleted &&
        (client.brokerage === null ? client.creator === me : isMember(w, me, client.brokerage, 'admin')),
      happens() {
        client.deleted = true;
        w.grants = w.grants.filter((grant) => grant.client !== client);
      },
    };
  },

  grantTool: (w, step, me) => {
    const client = pick(w.clients, step.a);
    if (!client) return null;
    const given = w.grants.some((grant) => grant.client === client && grant.person === me);
    const takes = step.b % 4 === 0;
    const which = `asking questions with client ${w.clients.indexOf(client)}`;
    return takes
      ? {
          says: `turns off ${which}`,
          sends: [withdrawTool(client.id, 'svc_questions_create', origin)],
          may: given,
          happens: () => void (w.grants = w.grants.filter((grant) => grant.client !== client || grant.person !== me)),
        }
      : {
          says: `turns on ${which}`,
          sends: [grantTool(client.id, 'svc_questions_create', null, origin)],
          may: worksFor(w, client, me),
          happens: () => void (given || w.grants.push({ person: me, client })),
        };
  },

  optIn: withDeal((w, step, me, deal) => {
    const opted = w.optIns.some((optIn) => optIn.deal === deal && optIn.person === me);
    return step.b % 4 === 0
      ? {
          afterClosing: true,
          says: `opts out of writing through tools on ${dealName(w, deal)}`,
          sends: [optOutDeal(deal.id, origin)],
          may: opted,
          happens: () => void (w.optIns = w.optIns.filter((optIn) => optIn.deal !== deal || optIn.person !== me)),
        }
      : {
          afterClosing: true,
          says: `opts in to writing through tools on ${dealName(w, deal)}`,
          sends: [optInDeal(deal.id, null, origin)],
          may: seesDeal(w, me, deal),
          happens: () => void (opted || w.optIns.push({ person: me, deal })),
        };
  }),

  stopTools: withDeal((w, step, me, deal) => {
    const stopped = step.b % 2 === 0;
    return {
      afterClosing: true,
      says: `${stopped ? 'stops' : 'allows'} writing through tools on ${dealName(w, deal)}`,
      sends: [stopDealTools(deal.id, stopped, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens() {
        w.stops = w.stops.filter((other) => other !== deal);
        if (stopped) w.stops.push(deal);
      },
    };
  }),
};
