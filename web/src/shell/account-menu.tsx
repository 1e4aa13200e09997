import { Link } from '@tanstack/react-router';
import { LogOut, Monitor, Moon, Sun, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { chooseBrokerage, useBrokerage, useMe } from '../api/me.ts';
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../components/menu.tsx';
import { chooseTheme, useTheme } from '../lib/theme.ts';
import { useLeave } from './use-leave.ts';

const themes = [
  { value: 'system', label: 'Use device setting', icon: <Monitor /> },
  { value: 'light', label: 'Light', icon: <Sun /> },
  { value: 'dark', label: 'Dark', icon: <Moon /> },
] as const;

/** The person's own menu: profile, brokerage, theme, signing out. */
export function AccountMenu({ trigger, side }: { trigger: ReactNode; side: 'top' | 'bottom' }) {
  const { memberships } = useMe();
  const brokerage = useBrokerage();
  const theme = useTheme();
  const leave = useLeave();
  return (
    <Menu trigger={trigger} side={side} align="start">
      <MenuItem asChild>
        <Link to="/settings/profile">
          <UserRound aria-hidden />
          Your profile
        </Link>
      </MenuItem>
      {memberships.length > 1 && brokerage && (
        <>
          <MenuSeparator />
          <MenuChoice
            label="Brokerage"
            value={brokerage.brokerage_id}
            onChange={chooseBrokerage}
            options={memberships.map((one) => ({ value: one.brokerage_id, label: one.brokerage_name }))}
          />
        </>
      )}
      <MenuSeparator />
      <MenuChoice label="Appearance" value={theme} onChange={chooseTheme} options={themes} />
      <MenuSeparator />
      <MenuItem icon={<LogOut />} onSelect={() => void leave()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}
