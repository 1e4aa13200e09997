/** The main navigation: the sidebar, the bar on phones and the command palette show the same pages. */
import { House, Handshake, Settings, ContactRound, type LucideIcon } from 'lucide-react';
import type { Me, MemberRole } from '../api/shapes.ts';
import type { PagePath } from '../paths.ts';

interface Place {
  to: '/' | '/deals' | '/contacts' | '/settings';
  label: string;
  icon: LucideIcon;
}

/** Returns the main pages for a person with these memberships. */
export function placesFor({ memberships }: Me): Place[] {
  const places: Place[] = [
    { to: '/', label: 'Home', icon: House },
    { to: '/deals', label: 'Deals', icon: Handshake },
  ];
  if (memberships.length > 0) places.push({ to: '/contacts', label: 'Contacts', icon: ContactRound });
  places.push({ to: '/settings', label: 'Settings', icon: Settings });
  return places;
}

interface SettingsPlace {
  to: Extract<PagePath, `/settings/${string}`>;
  label: string;
  group: 'You' | 'Assistants' | 'Brokerage';
}

const ofMembers: readonly SettingsPlace[] = [
  { to: '/settings/brokerage', label: 'Brokerage', group: 'Brokerage' },
  { to: '/settings/members', label: 'Members', group: 'Brokerage' },
];
const ofAdmins: readonly SettingsPlace[] = [
  { to: '/settings/keys', label: 'API keys', group: 'Brokerage' },
  { to: '/settings/webhooks', label: 'Webhooks', group: 'Brokerage' },
  { to: '/settings/status', label: 'Status', group: 'Brokerage' },
];

/** Returns the settings pages for a person with this role in the current brokerage. */
export function settingsFor(role: MemberRole | null): SettingsPlace[] {
  return [
    { to: '/settings/profile', label: 'Profile', group: 'You' },
    { to: '/settings/security', label: 'Security', group: 'You' },
    { to: '/settings/notifications', label: 'Notifications', group: 'You' },
    { to: '/settings/assistants', label: 'Connect an assistant', group: 'Assistants' },
    { to: '/settings/clients', label: 'Connected clients', group: 'Assistants' },
    { to: '/settings/tools', label: 'Tools', group: 'Assistants' },
    ...(role === null ? [] : ofMembers),
    ...(role === 'admin' ? ofAdmins : []),
    { to: '/settings/audit', label: 'Audit trail', group: role === 'admin' ? 'Brokerage' : 'You' },
  ];
}
