/**
 * The logos of brokerages: changed by their admins, and shown on pages to everybody who may see the brokerage, and in
 * its mails.
 */

import { row, type Statement } from '../../database/statement.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';

export interface Logo {
  media_type: string;
  /** Pixels. */
  width: number;
  height: number;
  picture: Buffer;
}

/** The name of a file with the logo. */
export const logoFileName = ({ media_type }: Pick<Logo, 'media_type'>): string =>
  `logo.${media_type.replace('image/', '').replace('jpeg', 'jpg')}`;

/** The logo of a brokerage that the caller may see; null when there is none. */
export const logoOf = row<Logo, [brokerageId: string]>(
  'brokerage_logo',
  'select media_type, width, height, picture from brokerage_logos where brokerage_id = $1',
);

/** The logo of the brokerage in whose name a mail is sent, for its delivery. */
export const logoOfMail = row<Logo, [mailId: string]>(
  'logo_of_mail',
  'select media_type, width, height, picture from app.logo_of_mail($1)',
);

const keep = row<{ id: string }>(
  'keep_brokerage_logo',
  `with kept as (
     insert into brokerage_logos (brokerage_id, media_type, width, height, picture) values ($1, $2, $3, $4, $5)
     on conflict (brokerage_id) do update
       set media_type = excluded.media_type, width = excluded.width, height = excluded.height, picture = excluded.picture
     returning brokerage_id)
   select brokerage_id as id, app.audit('brokerage.logo', brokerage_id::text, 'done', brokerage_id, null, $6, $7, '{}') from kept`,
);

/** Stores the logo of a brokerage, replacing an earlier one; for its admins. Rejects with Denied for others. */
export const keepLogo = (
  brokerageId: string,
  { media_type, width, height, picture }: Logo,
  { address, requestId }: Origin,
): Statement<boolean> => tookPlace(keep(brokerageId, media_type, width, height, picture, address, requestId));

const remove = row<{ id: string }>(
  'remove_brokerage_logo',
  `with removed as (delete from brokerage_logos where brokerage_id = $1 returning brokerage_id)
   select brokerage_id as id, app.audit('brokerage.logo.remove', brokerage_id::text, 'done', brokerage_id, null, $2, $3, '{}') from removed`,
);

/** Deletes the logo of a brokerage; for its admins. False: there is none that the caller may delete. */
export const removeLogo = (brokerageId: string, { address, requestId }: Origin): Statement<boolean> =>
  tookPlace(remove(brokerageId, address, requestId));
