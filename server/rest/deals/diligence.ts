/** Diligence on deals, read-only: questions, findings, the status of NDAs, and how the purchase is financed. */

import { z } from 'zod';
import { findingsOfDeal, findingStatuses, severities } from '../../domain/diligence/findings.ts';
import { questionCategories, questionsOfDeal, questionStatuses } from '../../domain/diligence/questions.ts';
import { ndasOfDeal } from '../../domain/deals/ndas.ts';
import { ndaStatuses } from '../../domain/deals/participants.ts';
import { lengths } from '../../domain/lengths.ts';
import { commitmentStatuses, sourcesOfDeal, sourceTypes } from '../../domain/offers/financing.ts';
import type { Services } from '../../services.ts';
import type { Callers } from '../caller.ts';
import { currency, decimal, id, time } from '../fields.ts';
import type { Operation } from '../operation.ts';
import { oneOfParameter, textParameter } from '../parameters.ts';
import { dealResources } from './records.ts';

export const question = z
  .object({
    id,
    dealId: id,
    category: z.enum(questionCategories),
    status: z.enum(questionStatuses),
    askedAt: time,
    questionText: z.string().meta({ examples: ['How much of revenue comes from the three largest customers?'] }),
    askedByName: z
      .string()
      .nullable()
      .meta({ description: 'Null for a key without participants:read.', examples: ['Priya Raman'] }),
    answerText: z
      .string()
      .nullable()
      .meta({ description: "The seller's answer, which the broker reviews.", examples: ['About a third.'] }),
    answeredAt: time.nullable(),
    distributedResponse: z
      .string()
      .nullable()
      .meta({
        description: 'The answer that the asker received.',
        examples: ['About a third, none above 15 percent.'],
      }),
    distributedAt: time.nullable(),
    rejectionReason: z
      .string()
      .nullable()
      .meta({ examples: ['Answered in the data room.'] }),
  })
  .meta({ id: 'Question', description: 'A question of a buyer, which a broker reviews and the seller answers.' });

export const finding = z
  .object({
    id,
    dealId: id,
    category: z.string().meta({ examples: ['tax'] }),
    title: z.string().meta({ examples: ['Sales tax was not filed for two quarters'] }),
    description: z
      .string()
      .nullable()
      .meta({ examples: ['The state has been told; the amount is small.'] }),
    severity: z.enum(severities),
    status: z.enum(findingStatuses),
    statusNotes: z
      .string()
      .nullable()
      .meta({ examples: ['Escrow agreed.'] }),
    ownerUserId: id.nullable().meta({ description: 'Also null for a key without participants:read.' }),
    createdBy: id.nullable().meta({ description: 'Also null for a key without participants:read.' }),
    createdAt: time,
    updatedAt: time,
    commentCount: z
      .int()
      .min(0)
      .meta({ examples: [3] }),
  })
  .meta({ id: 'Finding', description: 'Something that diligence turned up.' });

export const financingSource = z
  .object({
    id,
    dealId: id,
    sourceType: z.enum(sourceTypes),
    sourceName: z.string().meta({ examples: ['First Bank of Asheville'] }),
    commitmentAmount: decimal.meta({ description: 'Whole units of the currency.', examples: ['900000'] }),
    currency,
    commitmentStatus: z.enum(commitmentStatuses),
    createdBy: id.nullable().meta({ description: 'Also null for a key without participants:read.' }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'FinancingSource', description: 'A source of financing for the purchase.' });

export const nda = z
  .object({
    id,
    dealId: id,
    participantId: id.meta({ description: 'The buyer, among the participants of the deal.' }),
    status: z.enum(ndaStatuses),
    sentAt: time,
    signedAt: time.nullable(),
    expiresAt: time.nullable(),
    revokedAt: time.nullable(),
    replacedAt: time.nullable().meta({
      description:
        'When the buyer signed the next NDA, if that was before this one ended: its status is then `expired`.',
    }),
  })
  .meta({ id: 'Nda', description: 'The status of an NDA; its text and signature stay in the application.' });

const questionStatus = oneOfParameter('status', questionStatuses, 'Only questions with this status.');
const findingCategory = textParameter('category', lengths.findings.category, 'Only findings in this category.');
const severity = oneOfParameter('severity', severities, 'Only findings with this severity.');
const findingStatus = oneOfParameter('status', findingStatuses, 'Only findings with this status.');

/** The operations on diligence; `callers` authenticates API keys. */
export function diligenceOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list } = dealResources(services, callers);
  const { features } = services.config;
  return [
    list({
      path: '/deals/{dealId}/questions',
      id: 'listQuestions',
      tag: 'Diligence',
      summary: 'List the questions on a deal',
      description: 'All of them, newest first.',
      scope: 'questions:read',
      things: 'questions',
      item: question,
      page: 'QuestionList',
      filters: [questionStatus],
      rows: (c, dealId, after, limit) => questionsOfDeal(dealId, after, limit, questionStatus.read(c)),
    }),
    list({
      path: '/deals/{dealId}/ndas',
      id: 'listNdas',
      tag: 'Diligence',
      summary: 'List where the NDAs of a deal stand',
      description: 'Newest first.',
      scope: 'ndas:read',
      things: 'NDAs',
      item: nda,
      page: 'NdaList',
      rows: (_c, dealId, after, limit) => ndasOfDeal(dealId, after, limit),
    }),
    ...(features.findings
      ? [
          list({
            path: '/deals/{dealId}/findings',
            id: 'listFindings',
            tag: 'Diligence',
            summary: 'List the findings on a deal',
            description: 'Newest first.',
            scope: 'findings:read',
            things: 'findings',
            item: finding,
            page: 'FindingList',
            filters: [findingCategory, severity, findingStatus],
            rows: (c, dealId, after, limit) =>
              findingsOfDeal(dealId, after, limit, findingCategory.read(c), severity.read(c), findingStatus.read(c)),
          }),
        ]
      : []),
    ...(features.financing
      ? [
          list({
            path: '/deals/{dealId}/financing-sources',
            id: 'listFinancingSources',
            tag: 'Offers',
            summary: 'List the sources of financing of a deal',
            description: 'Newest first.',
            scope: 'financing:read',
            things: 'sources of financing',
            item: financingSource,
            page: 'FinancingSourceList',
            rows: (_c, dealId, after, limit) => sourcesOfDeal(dealId, after, limit),
          }),
        ]
      : []),
  ];
}
