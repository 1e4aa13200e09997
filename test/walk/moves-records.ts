/** Moves on a deal's records: for each, the rule from the documentation, and the statements that the server sends. */

import { addCondition, removeCondition } from '../../server/domain/deals/conditions.ts';
import { submitOffer } from '../../server/domain/offers/offers.ts';
import {
  addDocument,
  changeDocument,
  openDocument,
  removeDocument,
  restoreDocument,
} from '../../server/domain/documents/documents.ts';
import { addSource } from '../../server/domain/offers/financing.ts';
import { addFinding, setFindingStatus } from '../../server/domain/diligence/findings.ts';
import { addChecklistRow } from '../../server/domain/diligence/checklist.ts';
import { addNormalization, removeNormalization } from '../../server/domain/diligence/normalizations.ts';
import {
  answerContradiction,
  releaseContradiction,
  unanswerContradiction,
  withdrawContradiction,
} from '../../server/domain/diligence/contradiction-answers.ts';
import { admitToQoe, dismissFromQoe } from '../../server/domain/diligence/workspace.ts';
import {
  answerQuestion,
  askQuestion,
  distributeQuestion,
  rejectQuestion,
  releaseQuestion,
  withdrawQuestion,
} from '../../server/domain/diligence/questions.ts';
import {
  actsAs,
  editsQoe,
  isInDiligence,
  isUnderNda,
  partIn,
  principal,
  readsQoe,
  seesAs,
  seesDocument,
  seesOfSide,
  seesPart,
  seesQuestion,
  stateNow,
} from './rules.ts';
import type { Confidentiality } from './world.ts';
import { type Make, hour, origin, pick, nameOf, dealName, withDeal, partOf } from './step.ts';

/** Returns one of a few digests, for the key of a contradiction or for its figures. */
const keyOf = (n: number): string => String(n).repeat(32);

const levels: readonly Confidentiality[] = ['public', 'nda_gated', 'selected_buyer_only'];

const nothing = () => {};

/** Moves on the records of a deal. */
export const ofRecords: Readonly<Record<string, Make>> = {
  submitOffer: withDeal((w, _step, me, deal) => {
    const part = partIn(w, me, deal);
    return {
      says: `submits an offer on ${dealName(w, deal)}`,
      sends: [submitOffer(deal.id, { currency: 'USD', purchase_price: '1000000' }, origin)],
      may: actsAs(w, me, deal, 'buyer') && !['draft', 'closed', 'withdrawn'].includes(stateNow(w, deal)),
      makes: ['offers'],
      happens: (id) => void w.offers.push({ id: id!, part: part! }),
    };
  }),

  ask: withDeal((w, _step, me, deal) => ({
    says: `asks a question on ${dealName(w, deal)}`,
    sends: [askQuestion(deal.id, 'tax', 'Which years are open?', origin)],
    may:
      seesAs(w, me, deal, 'buyer') &&
      isUnderNda(w, me, deal) &&
      w.parts.some((part) => part.deal === deal && part.role === 'broker' && part.status === 'active') &&
      deal.state !== 'closed' &&
      deal.state !== 'withdrawn',
    makes: ['questions'],
    happens: (id) =>
      void w.questions.push({
        id: id!,
        part: principal(partIn(w, me, deal)!),
        asker: me,
        status: 'pending_broker_review',
        answered: false,
      }),
  })),

  moveQuestion: withDeal((w, step, me, deal) => {
    const question = pick(
      w.questions.filter(({ part }) => part.deal === deal),
      step.a,
    );
    if (!question) return null;
    const { id, status } = question;
    const broker = actsAs(w, me, deal, 'broker');
    const kinds = [
      {
        to: 'with_seller',
        sends: [releaseQuestion(id, origin)],
        may:
          broker &&
          (status === 'with_seller' ||
            (status === 'pending_broker_review' &&
              w.parts.some((part) => part.deal === deal && part.role === 'seller' && part.status === 'active'))),
      },
      {
        to: 'rejected',
        sends: [rejectQuestion(id, 'Elsewhere.', origin)],
        may: broker && status === 'pending_broker_review',
      },
      {
        to: 'withdrawn',
        sends: [withdrawQuestion(id, origin)],
        may: question.asker === me && status === 'pending_broker_review' && seesQuestion(w, me, question),
      },
      // Answering again before the broker has distributed the answer corrects it.
      {
        to: 'answered',
        sends: answerQuestion(id, 'Three.', undefined, origin),
        may: actsAs(w, me, deal, 'seller') && (status === 'with_seller' || status === 'answered'),
      },
      {
        to: 'distributed',
        sends: distributeQuestion(id, 'Three.', 'Three.', origin),
        may: broker && status === 'answered',
      },
    ] as const;
    const { to, sends, may } = pick([...kinds, kinds[0], kinds[3], kinds[4]], step.b)!;
    return {
      says: `moves question ${w.questions.indexOf(question)} of ${dealName(w, deal)} to ${to}`,
      sends,
      may,
      happens() {
        question.status = to;
        if (to === 'answered') question.answered = true;
      },
    };
  }),

  upload: withDeal((w, step, me, deal) => {
    const confidentiality = pick(levels, step.a)!;
    const source = step.b % 3 === 0 ? 'production' : 'simple';
    const document = {
      filename: 'a.pdf',
      category: 'tax',
      confidentiality,
      size: 1,
      mediaType: 'application/pdf',
      sha256: Buffer.alloc(32),
      storageKey: `walk-${w.documents.length}-${w.now}-${step.c}`,
    };
    return {
      says: `uploads a ${confidentiality} document to ${dealName(w, deal)}`,
      sends: [addDocument(deal.id, document, source === 'production' ? 'Tax returns' : null, origin)],
      may: actsAs(w, me, deal, 'broker', 'seller'),
      makes: [source === 'production' ? 'production_documents' : 'documents'],
      happens: (id) => void w.documents.push({ id: id!, deal, source, confidentiality, removed: null }),
    };
  }),

  changeDocument: withDeal((w, step, me, deal) => {
    const document = pick(
      w.documents.filter((one) => one.deal === deal),
      step.a,
    );
    if (!document) return null;
    const { id, source, removed } = document;
    const which = `document ${w.documents.indexOf(document)} of ${dealName(w, deal)}`;
    const side = actsAs(w, me, deal, 'broker', 'seller');
    switch (step.b % 4) {
      case 0: {
        const confidentiality = pick(levels, step.c)!;
        return {
          says: `makes ${which} ${confidentiality}`,
          sends: [changeDocument(source, id, { confidentiality }, origin)],
          may: side && removed === null,
          happens: () => void (document.confidentiality = confidentiality),
        };
      }
      case 1:
        return {
          says: `takes out ${which}`,
          sends: [removeDocument(source, id, origin)],
          may: side && removed === null,
          happens: () => void (document.removed = w.now),
        };
      case 2:
        return {
          says: `puts back ${which}`,
          sends: [restoreDocument(source, id, origin)],
          may: side && removed !== null && removed > w.now - hour,
          happens: () => void (document.removed = null),
        };
      default:
        return {
          afterClosing: true,
          says: `opens ${which}`,
          sends: [openDocument(source, id, false)],
          may: seesDocument(w, me, document),
          makes: ['document_openings'],
          happens: (opening) => void w.openings.push({ id: opening!, deal, person: me }),
        };
    }
  }),

  admitToQoe: withDeal((w, step, me, deal) => {
    const part = partOf(w, step, deal);
    if (!part) return null;
    const role = step.b % 2 === 0 ? 'editor' : 'reader';
    const side = principal(part);
    return {
      says: `lets ${nameOf(w, part.person)} into the QoE of ${dealName(w, deal)} as ${role}`,
      sends: [admitToQoe(deal.id, part.id, role, origin)],
      may:
        actsAs(w, me, deal, 'broker') &&
        part.status === 'active' &&
        part.role !== 'broker' &&
        part.role !== 'seller' &&
        (side.role !== 'buyer' ||
          w.ndas.some(
            (nda) => nda.part === side && nda.status === 'active' && (nda.expires === null || nda.expires > w.now),
          )),
      happens() {
        w.workspace = [...w.workspace.filter((place) => place.part !== part), { part, role }];
      },
    };
  }),

  dismissFromQoe: withDeal((w, step, me, deal) => {
    const place = pick(
      w.workspace.filter(({ part }) => part.deal === deal),
      step.a,
    );
    if (!place) return null;
    return {
      afterClosing: true,
      says: `takes ${nameOf(w, place.part.person)} out of the QoE of ${dealName(w, deal)}`,
      sends: [dismissFromQoe(deal.id, place.part.id, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens: () => void (w.workspace = w.workspace.filter((other) => other !== place)),
    };
  }),

  addToChecklist: withDeal((w, _step, me, deal) => ({
    says: `adds to the checklist of ${dealName(w, deal)}`,
    sends: [addChecklistRow(deal.id, 'tax', 'Returns', origin)],
    may: editsQoe(w, me, deal),
    makes: ['qoe_checklist'],
    happens: (id) => void w.checklist.push({ id: id!, deal }),
  })),

  addNormalization: withDeal((w, _step, me, deal) => ({
    says: `adds a normalization to ${dealName(w, deal)}`,
    sends: [
      addNormalization(
        deal.id,
        { period_label: 'FY2025', adjustment_category: 'other', adjustment_amount: '1', rationale: null },
        origin,
      ),
    ],
    may: editsQoe(w, me, deal),
    makes: ['normalizations'],
    happens: (id) => void w.normalizations.push({ id: id!, deal }),
  })),

  removeNormalization: withDeal((w, step, me, deal) => {
    const normalization = pick(
      w.normalizations.filter((one) => one.deal === deal),
      step.a,
    );
    if (!normalization) return null;
    return {
      says: `removes a normalization from ${dealName(w, deal)}`,
      sends: [removeNormalization(normalization.id, origin)],
      may: editsQoe(w, me, deal) && readsQoe(w, me, deal),
      happens: () => void (w.normalizations = w.normalizations.filter((other) => other !== normalization)),
    };
  }),

  answerContradiction: withDeal((w, step, me, deal) => {
    const [key, figures] = [keyOf(step.a % 3), keyOf(step.b % 3)];
    const there = w.contradictionAnswers.find((one) => one.deal === deal && one.key === key);
    return {
      says: `answers contradiction ${step.a % 3} of ${dealName(w, deal)}, with figures ${step.b % 3}`,
      sends: [answerContradiction(deal.id, { key, figures }, { status: 'explained', why: 'So.' }, undefined, origin)],
      may: actsAs(w, me, deal, 'broker'),
      ...(there ? {} : { makes: ['contradiction_answers'] }),
      happens(id) {
        if (!there) {
          w.contradictionAnswers.push({ id: id!, deal, key, figures, answeredAt: w.now, released: false });
          return;
        }
        // Answering again with the same figures changes nothing.
        if (there.figures === figures) return;
        Object.assign(there, { figures, answeredAt: w.now, released: false });
      },
    };
  }),

  moveContradictionAnswer: withDeal((w, step, me, deal) => {
    const key = keyOf(step.a % 3);
    const there = w.contradictionAnswers.find((one) => one.deal === deal && one.key === key);
    const isBroker = actsAs(w, me, deal, 'broker');
    const about = `contradiction ${step.a % 3} of ${dealName(w, deal)}`;
    if (step.b % 6 === 0)
      return {
        says: `takes the answer to ${about} back`,
        sends: [unanswerContradiction(deal.id, key, null, origin)],
        may: isBroker && there !== undefined,
        happens: () => void (w.contradictionAnswers = w.contradictionAnswers.filter((one) => one !== there)),
      };
    if (step.b % 3 === 1)
      return {
        says: `withdraws ${about}`,
        sends: [withdrawContradiction(deal.id, key, origin)],
        may: isBroker && there?.released === true,
        happens: () => void (there!.released = false),
      };
    // A person releases the answer that they saw: its figures may have changed since.
    const figures = step.c % 4 === 0 ? keyOf(step.c % 3) : (there?.figures ?? key);
    return {
      says: `releases ${about}`,
      sends: [releaseContradiction(deal.id, { key, figures }, new Date(there?.answeredAt ?? 0).toISOString(), origin)],
      may: isBroker && there?.figures === figures,
      happens: () => void (there!.released = true),
    };
  }),

  addFinding: withDeal((w, step, me, deal) => {
    const owner = step.a % 2 === 0 ? null : partOf(w, { ...step, a: step.b }, deal);
    return {
      says: `records a finding on ${dealName(w, deal)}${owner ? ` for ${nameOf(w, owner.person)} to see to` : ''}`,
      sends: [
        addFinding(
          deal.id,
          {
            category: 'tax',
            title: 'Late',
            description: null,
            severity: 'minor',
            owner_user_id: owner?.person ?? null,
          },
          origin,
        ),
      ],
      // The owner is an active participant whom the caller may see and who can open the finding.
      may:
        isInDiligence(w, me, deal) &&
        (!owner ||
          (owner.status === 'active' &&
            seesPart(w, me, owner) &&
            (['broker', 'seller'].includes(principal(owner).role) ||
              principal(owner) === principal(partIn(w, me, deal)!)))),
      makes: ['findings'],
      happens: (id) => void w.findings.push({ id: id!, part: principal(partIn(w, me, deal)!) }),
    };
  }),

  moveFinding: withDeal((w, step, me, deal) => {
    const finding = pick(
      w.findings.filter(({ part }) => part.deal === deal),
      step.a,
    );
    if (!finding) return null;
    return {
      says: `resolves finding ${w.findings.indexOf(finding)} of ${dealName(w, deal)}`,
      sends: [setFindingStatus(finding.id, 'resolved', null, origin)],
      may: isInDiligence(w, me, deal) && seesOfSide(w, me, finding),
      happens: nothing,
    };
  }),

  addSource: withDeal((w, _step, me, deal) => ({
    says: `records a financing source on ${dealName(w, deal)}`,
    sends: [
      addSource(
        deal.id,
        { source_type: 'sba_7a', source_name: 'Bank', commitment_amount: '1', commitment_status: 'identified' },
        origin,
      ),
    ],
    may: isInDiligence(w, me, deal),
    makes: ['financing_sources'],
    happens: (id) => void w.sources.push({ id: id!, part: principal(partIn(w, me, deal)!) }),
  })),

  addCondition: withDeal((w, _step, me, deal) => ({
    says: `adds a closing condition to ${dealName(w, deal)}`,
    sends: [addCondition(deal.id, { name: 'Lease', owner_user_id: null, deadline: null }, origin)],
    may: actsAs(w, me, deal, 'broker'),
    makes: ['closing_conditions'],
    happens: (id) => void w.conditions.push({ id: id!, deal }),
  })),

  removeCondition: withDeal((w, step, me, deal) => {
    const condition = pick(
      w.conditions.filter((one) => one.deal === deal),
      step.a,
    );
    if (!condition) return null;
    return {
      says: `takes a closing condition out of ${dealName(w, deal)}`,
      sends: [removeCondition(condition.id, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens: () => void (w.conditions = w.conditions.filter((other) => other !== condition)),
    };
  }),
};
