/**
 * Statements about accounts that are not measured through pages: sign-ins, links in mails, grants to clients, and
 * mails. All but the claim of a mail are rolled back.
 */

import { hash } from 'node:crypto';
import type { Database } from '../server/database/database.ts';
import { row, rows, type Statement } from '../server/database/statement.ts';
import { askAddressChange, askedAddress, changeAddress } from '../server/domain/accounts/address-change.ts';
import { keepDevice, knowsDevice } from '../server/domain/accounts/devices.ts';
import {
  addPasskey,
  findPasskey,
  keepChallenge,
  listPasskeys,
  removePasskey,
  renamePasskey,
  signInWithPasskey,
} from '../server/domain/accounts/passkeys.ts';
import {
  askPasswordReset,
  changePassword,
  ownPasswordRecipe,
  passwordRecipe,
  passwordResetOwner,
  resetPassword,
  signInWithPassword,
} from '../server/domain/accounts/passwords.ts';
import { keysOfSecrets } from '../server/domain/accounts/sealed-secrets.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  finishSignIn,
  mintRecoveryCodes,
  pendingSecret,
  recoveryCodesLeft,
  removeSecondFactor,
  renewRecoveryCodes,
  stepSecret,
} from '../server/domain/accounts/second-factor.ts';
import { enterWithSession } from '../server/domain/accounts/sessions.ts';
import { isSetUpLink, isSetUpOpen } from '../server/domain/accounts/set-up.ts';
import {
  approveClient,
  approveDocumentClient,
  authorizingClient,
  challengeOf,
  denyClient,
  denyDocumentClient,
  ownBrokerageNames,
  redeemCode,
} from '../server/domain/clients/authorization.ts';
import { forgetAnswers, mintTokens, refreshTokens, revokeToken } from '../server/domain/clients/tokens.ts';
import { bodyCleared, bodyGoes } from '../server/domain/documents/documents.ts';
import { notificationMail, unsubscribe, unsubscribeKinds } from '../server/domain/notifications/events.ts';
import { claimMail, mailFailed, mailSent, zoneOfMail } from '../server/domain/outbox/mails.ts';
import { acceptFirstInvitation, acceptInvitation, findInvitation } from '../server/domain/people/invitations.ts';
import { deleteBrokeragePart } from '../server/domain/people/brokerage-deletion.ts';
import { databaseVersions, deliveryState } from '../server/domain/service/status.ts';
import { oneDue, type Job } from './scale-jobs.ts';
import type { ScalePerson } from './scale-data.ts';
import { undone } from './scale-undone.ts';

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');
const from = { address: null, requestId: null, agent: null };
const parameters = '$argon2id$v=19$m=19456,t=2,p=1$';
/** The password hash of an account, as in scale-rows.ts. */
const phcOf = ({ user_id, email }: ScalePerson) => `${parameters}${hash('md5', user_id)}$${hash('md5', email)}`;
const link = { token: digestOf('a link'), secret: null };
const fresh = { token: digestOf('a new session'), earlier: null };
const verifier = 'v'.repeat(43);

const someStep = row<{ digest: Buffer }>(
  'bench_some_step',
  'select s.digest from vault.sign_in_steps s join vault.totp t using (user_id) order by s.digest limit 1',
);
const resourceOf = row<{ resource: string }, [client: string]>(
  'bench_resource',
  'select resource from vault.token_families where client_id = $1 limit 1',
);
const notificationMails = rows<{ id: string }>(
  'bench_notification_mails',
  `select id from vault.outbox where kind = 'notifications' order by id desc limit 1`,
);
const deletionDue = row<object, [brokerage: string]>(
  'bench_deletion_due_now',
  `insert into vault.brokerage_deletions (brokerage_id, due_at, begun_at) values ($1, now(), now())`,
);

/** Returns the jobs, as the broker of a thousand deals. */
export function accountJobs(database: Database, asOwner: Database, people: readonly ScalePerson[]): Job[] {
  const person = people.find(({ name }) => name === 'broker of 1000');
  const largeBrokerage = people.find(({ name }) => name === 'admin of 12000')?.brokerage_id;
  if (!person || !largeBrokerage) return [];
  const session = digestOf(person.session_token);
  const enter = enterWithSession(session);
  const before = `update vault.sessions set authenticated_at = now(), last_seen_at = now() where user_id = '${person.user_id}'`;
  const job = (name: string, statements: () => readonly Statement<unknown>[]): Job => ({
    name,
    before,
    run: () => undone(database, ...statements()).then(() => 'done'),
  });
  const invitation = digestOf(`invitation of ${person.email}`);
  const challenge = digestOf('a challenge');
  const passkey = {
    credentialId: 'of-the-bench',
    publicKey: Buffer.from('key'),
    counter: 0,
    transports: [],
    name: 'Phone',
  };
  const consent = (resource: string) => ({
    clientId: person.client_id,
    redirectUri: 'https://client.example/callback',
    challenge: challengeOf(verifier),
    scopes: ['mcp:read'] as const,
    resource,
    consent: digestOf('a consent'),
  });
  const byDocument = (resource: string) => ({
    ...consent(resource),
    clientId: 'https://client.example.com/oauth/client.json',
  });
  return [
    job('password_recipe, knows_device, sign_in, keep_device', () => [
      passwordRecipe(person.email, parameters),
      knowsDevice(person.email, session),
      signInWithPassword(person.email, phcOf(person), fresh, from),
      keepDevice(fresh.token, session, digestOf('a device')),
    ]),
    {
      name: 'step_secret, finish_sign_in',
      async run() {
        const step = (await asOwner.run(someStep()))?.digest;
        if (!step) return 'none';
        await undone(database, stepSecret(step), finishSignIn(step, { codeStep: '99999999' }, session, fresh, from));
        return 'done';
      },
    },
    job(
      'begin_second_factor, pending_secret, confirm_second_factor, recovery_codes_left, renew_recovery_codes, remove_second_factor',
      () => [
        enter,
        beginSecondFactor(session, 'sealed'),
        pendingSecret(session),
        confirmSecondFactor(session, '99999999', mintRecoveryCodes(), fresh.token, from),
        recoveryCodesLeft(fresh.token),
        renewRecoveryCodes(fresh.token, mintRecoveryCodes(), from),
        removeSecondFactor(fresh.token, from),
      ],
    ),
    job('keep_challenge, add_passkey, list_passkeys, rename_passkey, remove_passkey', () => [
      enter,
      keepChallenge(challenge, session),
      addPasskey(session, challenge, passkey, fresh.token, from),
      listPasskeys(fresh.token),
      renamePasskey(fresh.token, person.user_id, 'Another name', from),
      removePasskey(fresh.token, person.user_id, from),
    ]),
    job('find_passkey, sign_in_with_passkey', () => [
      keepChallenge(challenge, null),
      findPasskey('credential-1'),
      signInWithPasskey('credential-1', challenge, 1, fresh, from),
    ]),
    job('ask_password_reset, password_reset_owner, reset_password', () => [
      askPasswordReset(person.email, link, null, from),
      passwordResetOwner(link.token),
      resetPassword(link.token, phcOf(person), from),
    ]),
    job('own_password_recipe, change_password', () => [
      enter,
      ownPasswordRecipe(session, parameters),
      changePassword(session, phcOf(person), phcOf(person), fresh.token, from),
    ]),
    job('ask_address_change, asked_address, change_address', () => [
      enter,
      askAddressChange(session, 'another@people.example', link, from),
      askedAddress(session, link.token),
      changeAddress(session, link.token, from),
    ]),
    job('find_invitation, accept_invitation', () => [
      enter,
      findInvitation(invitation),
      acceptInvitation(session, invitation, from),
    ]),
    job('accept_first_invitation: of somebody who has an account', () => [
      acceptFirstInvitation(invitation, 'A name', phcOf(person), fresh, from),
    ]),
    {
      name: 'authorizing_client, own_brokerage_names, approve_client, redeem_code, refresh_tokens, revoke_token',
      before,
      async run() {
        const asked = consent((await asOwner.run(resourceOf(person.client_id)))?.resource ?? '');
        const { clientId, redirectUri } = asked;
        const code = digestOf('a code');
        const [tokens, again] = [mintTokens(), mintTokens()];
        await undone(
          database,
          enter,
          authorizingClient(clientId, redirectUri),
          ownBrokerageNames(),
          approveClient(asked, code, from),
          redeemCode({ clientId, code, redirectUri, challenge: asked.challenge, resource: null }, tokens, from),
          refreshTokens(
            { clientId, ...tokens.refresh, scopes: null, resource: null, began: null, overlap: 0 },
            again,
            from,
          ),
          revokeToken(clientId, again.refresh.digest, from),
        );
        return 'done';
      },
    },
    {
      name: 'approve_document_client, deny_document_client, deny_client',
      before,
      async run() {
        const resource = (await asOwner.run(resourceOf(person.client_id)))?.resource ?? '';
        const details = { name: 'By document', redirectUris: ['https://client.example/callback'] };
        await undone(
          database,
          enter,
          approveDocumentClient(byDocument(resource), details, digestOf('another code'), from),
          denyDocumentClient(byDocument(resource), from),
          denyClient(consent(resource), from),
        );
        return 'done';
      },
    },
    {
      name: 'zone_of_mail, mail_sent, mail_failed',
      before: oneDue,
      async run() {
        const mail = await database.run(claimMail());
        if (!mail) return 'none';
        await database.run(zoneOfMail(mail.id));
        await undone(
          database,
          mailFailed(mail, { reason: 'The mail server does not answer.', final: false, outage: false }),
        );
        await undone(database, mailSent(mail));
        return 'done';
      },
    },
    {
      name: 'notification_mail',
      async run() {
        const [mail] = await asOwner.run(notificationMails());
        return mail ? undone(database, notificationMail(mail.id)).then(() => 'done') : 'none';
      },
    },
    job('begin_to_clear, body_cleared', () => [
      bodyGoes('scale-upload-of-deal-104'),
      bodyCleared('scale-upload-of-deal-104'),
    ]),
    job('forget_answers', () => [forgetAnswers(10_000)]),
    job('unsubscribe_kinds, unsubscribe: with a token that is made up', () => [
      unsubscribeKinds('made up'),
      unsubscribe('made up'),
    ]),
    job('is_set_up_open, is_set_up_link, database_versions', () => [
      isSetUpOpen(),
      isSetUpLink(link.token),
      databaseVersions(),
    ]),
    job('keys_of_secrets: when a node starts', () => [keysOfSecrets()]),
    job('delivery_state: for the metrics', () => [deliveryState()]),
    {
      name: 'delete_brokerage_part: 1000 rows of the large one',
      run: () =>
        undone(asOwner, deletionDue(largeBrokerage), deleteBrokeragePart(largeBrokerage, 1_000)).then(() => 'done'),
    },
  ];
}
