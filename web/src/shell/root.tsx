import { Outlet } from '@tanstack/react-router';
import { ConfirmProvider } from '../components/confirm-dialog.tsx';
import { RecentSignInProvider } from '../components/recent-sign-in.tsx';
import { Toaster } from '../components/toast.tsx';
import { TooltipProvider } from '../components/tooltip.tsx';
import { UnsavedProvider } from '../components/unsaved.tsx';
import { Announcer } from './announcer.tsx';

/**
 * The providers and elements around every page, signed in or not: confirmations, toasts, tooltips and the announcer.
 */
export function Root() {
  return (
    <TooltipProvider delayDuration={350}>
      <UnsavedProvider>
        <ConfirmProvider>
          <RecentSignInProvider>
            <Outlet />
          </RecentSignInProvider>
        </ConfirmProvider>
      </UnsavedProvider>
      <Toaster />
      <Announcer />
    </TooltipProvider>
  );
}
