/**
 * The scene of docs/visibility.md with many records of every kind: each state and confidentiality, offers and questions
 * of several buyers, books in several snapshots, and more deals than the list fetches at once.
 */

import { confidentialities } from '../../server/domain/documents/documents.ts';
import { commitmentStatuses } from '../../server/domain/offers/financing.ts';
import { findingStatuses, severities } from '../../server/domain/diligence/findings.ts';
import { insert, insertAll } from '../tools/scene.ts';
import { addBooks, month } from './rows-books.ts';
import { openScene, type WebScene } from './scene.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

export interface RichScene extends WebScene {
  /** Everybody's name and e-mail address, by id. */
  readonly people: ReadonlyMap<string, { readonly name: string; readonly email: string }>;
  /** The end dates of the periods for which the latest books have revenue by customer. */
  readonly customerPeriods: readonly string[];
}

/** Opens a service with the scene in it, with findings and financing switched on or off. */
export async function openRichScene(on = true): Promise<RichScene> {
  const web = await openScene({ config: { features: { findings: on, financing: on } } });
  await formerBuyer(web);
  await moreDeals(web);
  await documents(web);
  await questions(web);
  const customerPeriods = await addBooks(web);
  await offers(web);
  await closing(web);
  await diligence(web);
  await anotherDeal(web);
  const people = await web.service.sql<{ id: string; name: string; email: string }>(
    'select id, name, email from users',
  );
  return { ...web, people: new Map(people.map((one) => [one.id, one])), customerPeriods };
}

/** Adds a removed buyer, for whom the functions below add questions and offers. */
async function formerBuyer({ service, scene }: WebScene): Promise<void> {
  const former = { name: 'former buyer', email: 'former-buyer@example.test' };
  scene.people['former buyer'] = await insert(service, 'users', former);
  const part = { deal_id: scene.deal, user_id: scene.people['former buyer'], role: 'buyer', status: 'removed' };
  scene.participants['former buyer'] = await insert(service, 'participants', part);
}

/**
 * More listings of the broker than one page of the list holds; of the new buyer, one active and one lapsed exclusivity.
 */
async function moreDeals({ service, scene }: WebScene): Promise<void> {
  const states = ['draft', 'listed', 'under_offer', 'diligence', 'closing', 'withdrawn'];
  const listings = Array.from({ length: 100 }, (_, at) => ({
    organization_id: scene.brokerage,
    title: `Listing ${at + 1}`,
    state: states[at % states.length],
    asking_price: 100_000 + at,
  }));
  await insertAll(service, 'deals', listings);
  await service.sql(
    `insert into participants (deal_id, user_id, role, status)
     select id, $1, 'broker', 'active' from deals where title like 'Listing %'`,
    [scene.people['broker']],
  );
  const exclusively = async (title: string, expires: number) => {
    const deal_id = await insert(service, 'deals', { organization_id: scene.brokerage, title, state: 'listed' });
    const joins = (name: string, role: string) =>
      insert(service, 'participants', { deal_id, user_id: scene.people[name], role, status: 'active' });
    await joins('broker', 'broker');
    await joins('other buyer', 'buyer');
    const participant_id = await joins('new buyer', 'buyer');
    const expires_at = new Date(service.clock.now().getTime() + expires);
    await insert(service, 'exclusivities', { deal_id, participant_id, expires_at });
  };
  await exclusively('Marina', 20 * day);
  service.clock.advance(-day);
  await exclusively('Lighthouse café', 60 * minute);
  service.clock.advance(day);
}

/** Each confidentiality in several categories, in both tables of documents, and one removed document of each. */
async function documents({ service, scene }: WebScene): Promise<void> {
  for (const table of ['documents', 'production_documents']) {
    const document = (confidentiality: string, category: string, at: number) => ({
      deal_id: scene.deal,
      filename: `${table} ${confidentiality} ${category}.pdf`,
      category,
      confidentiality,
      size_bytes: 1_000 + 7_919 * at,
      media_type: 'application/pdf',
      storage_key: `${table} ${confidentiality} ${category}`,
      uploaded_by: scene.people['seller'],
      uploaded_at: new Date(Date.now() - at * minute),
      removed_at: category === 'taken out' ? new Date() : null,
      ...(table === 'documents' ? {} : { diligence_request: `Request ${at}` }),
    });
    const categories = ['financials', 'legal', 'tax', 'customers', 'Site visit', 'taken out'];
    const all = confidentialities.flatMap((access, row) =>
      categories.map((category, at) => document(access, category, 10 * row + at)),
    );
    await insertAll(service, table, all);
  }
}

/** Questions in each state, asked by two buyers and by the removed one. */
async function questions({ service, scene }: WebScene): Promise<void> {
  const states = ['pending_broker_review', 'with_seller', 'answered', 'distributed', 'rejected', 'withdrawn'];
  const askers = ['exclusive buyer', 'other buyer', 'former buyer'];
  const all = askers.flatMap((asker, row) =>
    states.map((status, at) => ({
      deal_id: scene.deal,
      category: ['tax', 'legal', 'employees'][at % 3],
      question_text: `${asker}: what of ${status}?`,
      asked_by: scene.people[asker],
      participant_id: scene.participants[asker],
      status,
      asked_at: new Date(Date.now() - (10 * row + at) * minute),
      distributed_response: status === 'distributed' ? `To the ${asker}: see the lease.` : null,
      distributed_at: status === 'distributed' ? new Date() : null,
      rejection_reason: status === 'rejected' ? 'It is in the data room.' : null,
    })),
  );
  await insertAll(service, 'questions', all);
  await service.sql(
    `insert into question_answers (question_id, deal_id, answer_text)
     select id, deal_id, 'The seller on: ' || question_text from questions
     where status in ('answered', 'distributed') and question_text <> 'Why?'`,
  );
}

/** Revisions of each buyer's offer, and an offer of the removed buyer. */
async function offers({ service, scene }: WebScene): Promise<void> {
  await service.sql('update offers set is_current = false where deal_id = $1', [scene.deal]);
  const revisions: readonly [buyer: string, revision: number, last: number][] = [
    ['exclusive buyer', 2, 3],
    ['exclusive buyer', 3, 3],
    ['other buyer', 2, 2],
    ['new buyer', 1, 1],
    ['former buyer', 1, 1],
  ];
  const offer = ([buyer, revision_number, last]: (typeof revisions)[number], at: number) => ({
    deal_id: scene.deal,
    participant_id: scene.participants[buyer],
    buyer_user_id: scene.people[buyer],
    revision_number,
    is_current: revision_number === last,
    submitted_at: new Date(Date.now() + at),
    payload: { currency: 'USD', purchase_price: `${900_000 + 12_345 * at}.50`, terms: `Terms ${at} of the ${buyer}` },
  });
  await insertAll(service, 'offers', revisions.map(offer));
}

/** Conditions in every state, due and overdue; one is owned by a buyer who was not selected. */
async function closing({ service, scene }: WebScene): Promise<void> {
  const owners = ['seller', 'broker', 'other buyer', null, 'exclusive buyer'];
  const all = ['open', 'in_progress', 'satisfied', 'waived', 'open'].map((status, at) => ({
    deal_id: scene.deal,
    name: `Condition ${at}`,
    status,
    owner_user_id: owners[at] === null ? null : scene.people[owners[at]!],
    deadline: at === 4 ? null : ['2020-01-31', '2031-05-20'][at % 2],
    created_at: new Date(Date.now() + at),
  }));
  await insertAll(service, 'closing_conditions', all);
}

/** Findings and financing sources of the broker and of two buyers, in every status. */
async function diligence({ service, scene }: WebScene): Promise<void> {
  for (const [row, finder] of ['broker', 'exclusive buyer', 'other buyer'].entries()) {
    const its = { deal_id: scene.deal, participant_id: scene.participants[finder], created_by: scene.people[finder] };
    for (const [at, status] of findingStatuses.entries()) {
      const id = await insert(service, 'findings', {
        ...its,
        category: 'tax',
        title: `Finding ${row}.${at}`,
        severity: severities[at],
        owner_user_id: at === 1 ? scene.people['seller'] : null,
      });
      const comment = { finding_id: id, body: `Comment on ${row}.${at}` };
      // The last comment is by a broker who has since been removed from the deal, and whom a buyer no longer sees.
      for (const who of ['seller', 'broker', 'removed'].slice(0, at))
        await insert(service, 'finding_comments', { ...comment, created_by: scene.people[who] });
      if (status !== 'open')
        await service.sql('update findings set status = $2, status_notes = $3 where id = $1', [
          id,
          status,
          `It is ${at}`,
        ]);
    }
    const sources = commitmentStatuses.map((commitment_status, at) => ({
      ...its,
      source_type: 'sba_7a',
      source_name: `Bank ${row}.${at}`,
      currency: 'USD',
      commitment_status,
      commitment_amount: 1_000_000 * (row + 1) + at,
      created_at: new Date(Date.now() + at),
    }));
    await insertAll(service, 'financing_sources', sources);
  }
}

/**
 * One record of each kind on another deal that brokers, sellers and buyers see; none belongs on the pages of this deal.
 */
async function anotherDeal({ service, scene }: WebScene): Promise<void> {
  const its = { deal_id: scene.idle };
  const buyers = { ...its, participant_id: scene.idleBuyer };
  const buyer = scene.people['new buyer'];
  const body = { filename: 'elsewhere.pdf', category: 'tax', confidentiality: 'public', size_bytes: 1 };
  const document = { ...its, ...body, media_type: 'application/pdf', storage_key: 'elsewhere' };
  await insert(service, 'documents', document);
  await insert(service, 'production_documents', { ...document, diligence_request: 'Elsewhere' });
  await insert(service, 'questions', { ...buyers, category: 'tax', question_text: 'Elsewhere?', asked_by: buyer });
  await insert(service, 'offers', {
    ...buyers,
    buyer_user_id: buyer,
    revision_number: 1,
    payload: '{"terms": "Elsewhere"}',
  });
  await insert(service, 'closing_conditions', { ...its, name: 'Elsewhere' });
  await insert(service, 'findings', { ...buyers, category: 'tax', title: 'Elsewhere', severity: 'minor' });
  const source = { ...buyers, source_type: 'other', source_name: 'Elsewhere', commitment_amount: 1, currency: 'USD' };
  await insert(service, 'financing_sources', source);
  await insert(service, 'qoe_checklist', { ...its, category: 'tax', title: 'Elsewhere' });
  const snapshot = { ...its, snapshot_type: 'full', status: 'completed' };
  const books = { ...its, ...month(12), snapshot_id: await insert(service, 'accounting_snapshots', snapshot) };
  await insert(service, 'pl_periods', { ...books, period_label: 'Elsewhere', revenue: 1 });
  await insert(service, 'customer_revenues', { ...books, customer_name: 'Elsewhere', revenue_total: 1 });
  const normalization = { ...its, period_label: 'FY2025', adjustment_category: 'other', adjustment_amount: 1 };
  await insert(service, 'normalizations', normalization);
}
