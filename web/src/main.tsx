import './lib/link-token.ts';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionEnds } from './api/client.ts';
import { keys } from './api/query-keys.ts';
import { queryClient } from './api/query-client.ts';
import { router } from './router.tsx';
import './styles/app.css';
import { wholeNumber } from './lib/whole-number.ts';

// Where a page has no way of its own to sign in again, the sign-in page leads back to it.
whenSessionEnds(async () => {
  const { pathname, href } = router.state.location;
  if (pathname !== '/sign-in') {
    queryClient.removeQueries({ queryKey: keys.me });
    await router.navigate({ to: '/sign-in', search: { return_to: href } });
  }
  return false;
});

// A page that was open while a new version was put up asks for files that are gone: the page anew has the new ones.
window.addEventListener('vite:preloadError', (event) => {
  const last = wholeNumber(sessionStorage.getItem('dealkeep.reloaded') ?? 0);
  if (Date.now() - last < 30_000) return;
  sessionStorage.setItem('dealkeep.reloaded', String(Date.now()));
  event.preventDefault();
  window.location.reload();
});

const root = document.getElementById('root');
if (!root) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
