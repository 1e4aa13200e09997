import { Link, Outlet } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { PortalContainerContext } from '../components/portal-container.tsx';
import { Brand } from './brand.tsx';

/** The layout of pages outside the shell, such as signing in: one task in the middle. */
export function SignedOutLayout({ children }: { children: ReactNode }) {
  const [main, setMain] = useState<HTMLElement | null>(null);
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="px-5 pt-5 sm:px-8 sm:pt-7">
        <Link to="/" aria-label="Dealkeep" className="inline-block rounded-md coarse:-my-2 coarse:py-2">
          <Brand />
        </Link>
      </header>
      <main id="main" ref={setMain} className="flex flex-1 items-start justify-center px-4 pt-[min(10vh,5rem)] pb-12">
        <div className="w-full max-w-md">
          <PortalContainerContext value={main}>{children}</PortalContainerContext>
        </div>
      </main>
      <footer className="px-5 pb-6 text-center text-sm text-faint">
        Every sale from listing to closing, in one place.
      </footer>
    </div>
  );
}

/** The pages before signing in. */
export function SignedOutPages() {
  return (
    <SignedOutLayout>
      <Outlet />
    </SignedOutLayout>
  );
}
