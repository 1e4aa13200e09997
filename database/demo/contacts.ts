/** The address books of the two brokerages: prospects, buyers and the professionals around a sale. All made up. */

import type { BrokerageKey, PersonKey } from './people.ts';

export interface ContactEntry {
  readonly type: 'person' | 'company';
  readonly displayName: string;
  readonly email: string | null;
  readonly phone: string | null;
  /** Days before the load at which the contact was added. */
  readonly added: number;
  readonly archived?: number;
  /** The person who added the contact; defaults to the other program, which has the full API key. */
  readonly by?: PersonKey;
}

const person = (
  displayName: string,
  email: string | null,
  phone: string | null,
  added: number,
  by?: PersonKey,
  archived?: number,
): ContactEntry => ({
  type: 'person',
  displayName,
  email,
  phone,
  added,
  ...(by && { by }),
  ...(archived && { archived }),
});

const company = (...rest: Parameters<typeof person>): ContactEntry => ({ ...person(...rest), type: 'company' });

const bramwellOakes: readonly ContactEntry[] = [
  person('Ron Halvorsen', 'ron@kestrelcreek.example', '+1 614-555-0112', 241, 'marcus'),
  company('Kestrel Creek Mechanical', 'office@kestrelcreek.example', '+1 614-555-0110', 241, 'marcus'),
  person('Linda Halvorsen', null, '+1 614-555-0113', 233, 'priya'),
  person('Elena Marchetti', 'elena@marchettisearch.example', '+1 312-555-0146', 190, 'marcus'),
  company('Marchetti Search Partners', 'hello@marchettisearch.example', null, 190, 'marcus'),
  person('Gregory Stahl', 'gstahl@fairmounttrades.example', '+1 412-555-0178', 198, 'marcus'),
  company('Fairmount Trades Group', 'acquisitions@fairmounttrades.example', '+1 412-555-0170', 198, 'marcus'),
  company('Copperline Community Bank', 'businesslending@copperlinebank.example', '+1 614-555-0130', 620, 'judith'),
  person('Nadia Brandt', 'nadia.brandt@copperlinebank.example', '+1 614-555-0131', 410, 'marcus'),
  company('Bank of the Three Ferries', 'sba@threeferries.example', '+1 513-555-0102', 590, 'judith'),
  person('Howard Ames', 'howard.ames@threeferries.example', '+1 513-555-0104', 588, 'judith'),
  company('Castellane Sung LLP', 'reception@castellanesung.example', '+1 614-555-0155', 702, 'judith'),
  person('Meredith Sung', 'msung@castellanesung.example', '+1 614-555-0157', 702, 'judith'),
  company('Renner Ledger CPAs', 'office@rennerledger.example', '+1 312-555-0190', 45, 'marcus'),
  person('Tobias Renner', 'tobias@rennerledger.example', '+1 312-555-0191', 45, 'marcus'),
  company('Dietz Precision', 'shop@dietzprecision.example', '+1 937-555-0118', 64, 'marcus'),
  person('Walter Dietz', 'walter.dietz@dietzprecision.example', '+1 937-555-0119', 64, 'marcus'),
  company('Calloway Dental Laboratory', 'lab@callowaydental.example', '+1 330-555-0124', 155, 'stewart'),
  person('Ines Calloway', 'ines@callowaydental.example', null, 155, 'stewart'),
  company('Two Fenceposts Veterinary', 'frontdesk@twofenceposts.example', '+1 419-555-0160', 139, 'dana'),
  person('Dr. Fiona Albright', 'fiona@twofenceposts.example', '+1 419-555-0161', 139, 'dana'),
  company('Millstone Lane Bakery', 'orders@millstonelane.example', '+1 216-555-0143', 90, 'marcus'),
  person('Tomasz Wierzba', 'tomasz@millstonelane.example', '+1 216-555-0144', 90, 'marcus'),
  company('Quietpacket Managed IT', 'hello@quietpacket.example', '+1 419-555-0182', 170, 'dana'),
  person('Kelvin Abara', 'kelvin@quietpacket.example', '+1 419-555-0183', 170, 'dana'),
  company('Merrick Grounds & Snow', 'dispatch@merrickgrounds.example', '+1 740-555-0136', 292, 'marcus'),
  person('Duane Merrick', 'duane@merrickgrounds.example', '+1 740-555-0137', 292, 'marcus'),
  company('Boldertail', 'team@boldertail.example', null, 61, 'dana'),
  person('Sasha Lindholm', 'sasha@boldertail.example', '+1 614-555-0166', 61, 'dana'),
  person('Claire Donnelly', 'claire@donnellyholdings.example', '+1 614-555-0172', 455, 'dana'),
  person('Benedict Achterberg', 'benedict@achterberg.example', '+1 614-555-0175', 336, 'marcus'),
  person('Yusuf Karim', 'yusuf@karimfamily.example', '+1 614-555-0181', 204, 'marcus'),
  person('Arjun Mehra', 'arjun@lanternfield.example', '+1 734-555-0108', 112, 'dana'),
  company('Lanternfield Capital', 'deals@lanternfield.example', '+1 734-555-0100', 112, 'dana'),
  company('Hollin & Brace Appraisals', 'orders@hollinbrace.example', '+1 614-555-0188', 515, 'priya'),
  person('Grace Hollin', 'grace@hollinbrace.example', '+1 614-555-0189', 515, 'priya'),
  company('Pinhook Escrow', 'closings@pinhookescrow.example', '+1 614-555-0194', 498, 'priya'),
  person('Theo Vandermolen', 'theo@vandermolentax.example', '+1 614-555-0197', 377, 'judith'),
  company('Sable Tree Printing', 'frontoffice@sabletree.example', '+1 614-555-0126', 38),
  person('Anneliese Kraft', 'anneliese@sabletree.example', '+1 614-555-0127', 38),
  company('Hen & Harrow Equipment Rental', 'info@henharrow.example', '+1 740-555-0151', 27),
  person('Curtis Bellweather', 'curtis@henharrow.example', '+1 740-555-0152', 27),
  company('Junction Street Upholstery', 'hello@junctionupholstery.example', null, 16),
  person('Miriam Osei-Barnes', 'miriam@junctionupholstery.example', '+1 614-555-0141', 16),
  person('Felix Rademaker', 'felix.rademaker@mailbox.example', null, 2),
  person('Paul Ostrowski', 'paul.ostrowski@mailbox.example', '+1 614-555-0168', 183, 'marcus', 120),
  company('Stockbridge Plumbing & Drain', 'office@stockbridgepipe.example', '+1 567-555-0114', 205, 'dana', 72),
];

const pelicanQuay: readonly ContactEntry[] = [
  company('Pruitt Marine', 'yard@pruittmarine.example', '+1 251-555-0120', 101, 'reggie'),
  person('Vernon Pruitt', 'vernon@pruittmarine.example', '+1 251-555-0121', 101, 'reggie'),
  company('Landry Seafood', 'dock@landryseafood.example', '+1 251-555-0133', 181, 'reggie'),
  person('Thuy Landry', 'thuy@landryseafood.example', '+1 251-555-0134', 181, 'reggie'),
  company('Sills Beach Rentals', 'stay@sillsbeach.example', '+1 251-555-0147', 21, 'camille'),
  person('Marguerite Sills', 'marguerite@sillsbeach.example', '+1 251-555-0148', 21, 'camille'),
  person('Desmond Keel', 'desmond@keelcapital.example', '+1 504-555-0109', 92, 'reggie'),
  company('Keel Capital', 'office@keelcapital.example', '+1 504-555-0106', 92, 'reggie'),
  company('First Oyster Bank', 'commercial@firstoysterbank.example', '+1 251-555-0158', 402, 'camille'),
  person('Roland Tastet', 'roland@firstoysterbank.example', '+1 251-555-0159', 400, 'camille'),
  company('Magnolia & Quill, Attorneys', 'intake@magnoliaquill.example', '+1 251-555-0163', 388, 'camille'),
  person('Odette Quill', 'odette@magnoliaquill.example', '+1 251-555-0164', 388, 'camille'),
  person('Harvey Blount', null, '+1 251-555-0171', 66, 'lorna'),
  company('Saltmeadow Surveyors', 'survey@saltmeadow.example', '+1 251-555-0186', 59, 'lorna'),
  person('Jolie Armentrout', 'jolie.armentrout@mailbox.example', '+1 850-555-0117', 5),
];

export const addressBooks: Readonly<Record<BrokerageKey, readonly ContactEntry[]>> = { bramwellOakes, pelicanQuay };
