/** Creating the first brokerage of an empty installation, and its admin. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { NewSession, SignInOrigin } from './passwords.ts';

const isOpen = row<{ open: boolean }, []>('is_set_up_open', 'select app.is_set_up_open() as open');

/** Whether the installation is still empty, so that a link can set it up. */
export const isSetUpOpen = (): Statement<boolean> => mapped(isOpen(), (answer) => answer?.open ?? false);

const isLink = row<{ valid: boolean }>('is_set_up_link', 'select app.is_set_up_link($1) as valid');

/** Whether this link is valid for setting up the installation. */
export const isSetUpLink = (token: Buffer): Statement<boolean> =>
  mapped(isLink(token), (answer) => answer?.valid ?? false);

interface FirstBrokerage {
  readonly name: string;
  readonly slug: string;
  readonly adminEmail: string;
  readonly adminName: string;
  readonly phc: string;
}

const create = row<{ done: boolean }>(
  'set_up',
  'select app.set_up($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as done',
);

/**
 * Creates the brokerage and its admin, who is signed in; false when the link was used or another request was faster.
 */
export const setUp = (
  link: Buffer,
  { name, slug, adminEmail, adminName, phc }: FirstBrokerage,
  { token, earlier }: NewSession,
  { address, agent, requestId }: SignInOrigin,
): Statement<boolean> =>
  mapped(
    create(link, name, slug, adminEmail, adminName, phc, token, earlier, address, agent, requestId),
    (answer) => answer?.done ?? false,
  );

/** Letters of which no accent can be taken off, as they are written without them. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
};

/** Returns a slug for a brokerage's name: a-z, 0-9 and single hyphens, at most 64 characters. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, (sign) => plainLetters[sign] ?? '-')
    .replace(/-+/g, '-')
    .slice(0, 64)
    .replace(/^-+|-+$/g, '');
  return slug || 'brokerage';
}
