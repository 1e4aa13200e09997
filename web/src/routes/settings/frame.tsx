import { Link, Outlet } from '@tanstack/react-router';
import { useBrokerage } from '../../api/me.ts';
import { TabLink, TabNav } from '../../components/tabs.tsx';
import { cx } from '../../lib/cx.ts';
import { settingsFor } from '../../shell/navigation.ts';

/** The settings' heading and menu: a column on desktops, a row of tabs on phones. */
export default function SettingsFrame() {
  const brokerage = useBrokerage();
  const places = settingsFor(brokerage?.role ?? null);
  const groups = [...new Set(places.map((place) => place.group))];
  return (
    <>
      <h1 className="mb-4 font-serif text-2xl font-semibold text-ink lg:mb-6">Settings</h1>
      <TabNav label="Settings" className="mb-6 border-b border-line lg:hidden">
        {places.map(({ to, label }) => (
          <TabLink key={to} to={to}>
            {label}
          </TabLink>
        ))}
      </TabNav>
      <div className="grid items-start gap-10 lg:grid-cols-[12rem_minmax(0,1fr)]">
        <nav aria-label="Settings" className="hidden flex-col gap-5 lg:flex">
          {groups.map((group) => (
            <div key={group} className="flex flex-col gap-0.5">
              <p className="px-2.5 pb-1 text-xs font-medium text-faint">
                {group === 'Brokerage' ? (brokerage?.brokerage_name ?? group) : group}
              </p>
              {places
                .filter((place) => place.group === group)
                .map(({ to, label }) => (
                  <Link
                    key={to}
                    to={to}
                    className={cx(
                      'rounded-md px-2.5 py-1.5 not-data-[status=active]:text-soft',
                      'not-data-[status=active]:hover:bg-hover not-data-[status=active]:hover:text-ink',
                      'data-[status=active]:bg-accent-wash data-[status=active]:font-medium data-[status=active]:text-accent-ink',
                    )}
                  >
                    {label}
                  </Link>
                ))}
            </div>
          ))}
        </nav>
        <Outlet />
      </div>
    </>
  );
}
