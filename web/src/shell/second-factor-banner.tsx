import { ShieldAlert } from 'lucide-react';
import { useMe } from '../api/me.ts';
import { Banner } from '../components/banner.tsx';
import { ButtonLink } from '../components/button.tsx';

/** Names the brokerages that the person cannot open without a second factor, and links to setting one up. */
export function SecondFactorBanner() {
  const { second_factor_owed: owed } = useMe();
  if (owed.length === 0) return null;
  const names = owed.map(({ brokerage_name }) => brokerage_name).join(' and ');
  const hasOne = owed.some(({ has_one }) => has_one);
  return (
    <Banner
      label="Second factor"
      icon={ShieldAlert}
      tone="info"
      says={
        <>
          <strong className="font-medium text-ink">{names}</strong>{' '}
          {owed.length === 1
            ? 'requires a second factor from its members and is'
            : 'require a second factor from their members and are'}{' '}
          closed to you until you use one.{' '}
          {hasOne
            ? 'Sign out, and sign in with your authenticator or passkey.'
            : 'Set up an authenticator or a passkey: it takes a minute.'}
        </>
      }
    >
      {!hasOne && (
        <ButtonLink to="/settings/security" kind="primary" size="sm">
          Set it up
        </ButtonLink>
      )}
    </Banner>
  );
}
