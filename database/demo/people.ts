/** Everybody in the demo, and the two brokerages. All are made up; their email addresses cannot exist. */

import { ago, type RelativeTime } from './relative-times.ts';

interface Person {
  readonly name: string;
  readonly email: string;
}

export const people = {
  // Bramwell Oakes, the main brokerage
  judith: { name: 'Judith Bramwell', email: 'judith@bramwell-oakes.example' },
  marcus: { name: 'Marcus Oyelaran', email: 'marcus@bramwell-oakes.example' },
  dana: { name: 'Dana Whitcomb', email: 'dana@bramwell-oakes.example' },
  priya: { name: 'Priya Raman', email: 'priya@bramwell-oakes.example' },
  colin: { name: 'Colin Farrow', email: 'colin@bramwell-oakes.example' },
  stewart: { name: 'Stewart Lindqvist', email: 'stewart@bramwell-oakes.example' },

  // Its sellers
  ron: { name: 'Ron Halvorsen', email: 'ron@kestrelcreek.example' },
  walter: { name: 'Walter Dietz', email: 'walter.dietz@dietzprecision.example' },
  ines: { name: 'Ines Calloway', email: 'ines@callowaydental.example' },
  fiona: { name: 'Dr. Fiona Albright', email: 'fiona@twofenceposts.example' },
  tomasz: { name: 'Tomasz Wierzba', email: 'tomasz@millstonelane.example' },
  kelvin: { name: 'Kelvin Abara', email: 'kelvin@quietpacket.example' },
  duane: { name: 'Duane Merrick', email: 'duane@merrickgrounds.example' },
  sasha: { name: 'Sasha Lindholm', email: 'sasha@boldertail.example' },
  beatriz: { name: 'Beatriz Nunes', email: 'beatriz@fourthcrack.example' },
  earl: { name: 'Earl Stockbridge', email: 'earl@stockbridgepipe.example' },
  hannah: { name: 'Dr. Hannah Reyes', email: 'hannah@steadygaitpt.example' },
  olga: { name: 'Olga Petrenko', email: 'olga@brightcorridor.example' },

  // Buyers, and those who advise one side or the other
  elena: { name: 'Elena Marchetti', email: 'elena@marchettisearch.example' },
  gregory: { name: 'Gregory Stahl', email: 'gstahl@fairmounttrades.example' },
  paul: { name: 'Paul Ostrowski', email: 'paul.ostrowski@mailbox.example' },
  arjun: { name: 'Arjun Mehra', email: 'arjun@lanternfield.example' },
  claire: { name: 'Claire Donnelly', email: 'claire@donnellyholdings.example' },
  benedict: { name: 'Benedict Achterberg', email: 'benedict@achterberg.example' },
  yusuf: { name: 'Yusuf Karim', email: 'yusuf@karimfamily.example' },
  tobias: { name: 'Tobias Renner, CPA', email: 'tobias@rennerledger.example' },
  meredith: { name: 'Meredith Sung', email: 'msung@castellanesung.example' },
  nadia: { name: 'Nadia Brandt', email: 'nadia.brandt@copperlinebank.example' },

  // A person with an account and nothing else
  hugh: { name: 'Hugh Pemberton', email: 'hugh.pemberton@mailbox.example' },

  // Pelican Quay, the second brokerage, its sellers and buyers
  camille: { name: 'Camille Thibodeaux', email: 'camille@pelicanquay.example' },
  reggie: { name: 'Reggie Lane', email: 'reggie@pelicanquay.example' },
  lorna: { name: 'Lorna Peak', email: 'lorna@pelicanquay.example' },
  vernon: { name: 'Vernon Pruitt', email: 'vernon@pruittmarine.example' },
  thuy: { name: 'Thuy Landry', email: 'thuy@landryseafood.example' },
  marguerite: { name: 'Marguerite Sills', email: 'marguerite@sillsbeach.example' },
  desmond: { name: 'Desmond Keel', email: 'desmond@keelcapital.example' },
} as const satisfies Record<string, Person>;

export type PersonKey = keyof typeof people;

/** The people named in demo.json. */
export const leads = {
  admin: 'judith',
  broker: 'marcus',
  seller: 'ron',
  buyer: 'elena',
  other_buyer: 'gregory',
  outsider: 'hugh',
} as const satisfies Record<string, PersonKey>;

export type Lead = keyof typeof leads;

interface Member {
  readonly person: PersonKey;
  readonly role: 'admin' | 'broker' | 'staff';
  readonly status?: 'invited' | 'removed';
  readonly joined: RelativeTime;
  readonly changed?: RelativeTime;
}

export const brokerages = {
  bramwellOakes: {
    slug: 'bramwell-oakes',
    name: 'Bramwell Oakes Business Brokers',
    founded: ago(1150, '14:05'),
    members: [
      { person: 'judith', role: 'admin', joined: ago(1150, '14:05') },
      { person: 'marcus', role: 'broker', joined: ago(1148, '15:30') },
      { person: 'dana', role: 'broker', joined: ago(905, '13:50') },
      { person: 'priya', role: 'staff', joined: ago(640, '14:20') },
      { person: 'stewart', role: 'broker', status: 'removed', joined: ago(890, '15:10'), changed: ago(34, '20:45') },
      { person: 'colin', role: 'broker', status: 'invited', joined: ago(6, '18:25') },
    ],
  },
  pelicanQuay: {
    slug: 'pelican-quay',
    name: 'Pelican Quay Business Sales',
    founded: ago(702, '15:00'),
    members: [
      { person: 'camille', role: 'admin', joined: ago(702, '15:00') },
      { person: 'reggie', role: 'broker', joined: ago(700, '16:15') },
      { person: 'lorna', role: 'staff', joined: ago(377, '14:40') },
    ],
  },
} as const satisfies Record<string, { slug: string; name: string; founded: RelativeTime; members: readonly Member[] }>;

export type BrokerageKey = keyof typeof brokerages;
