import './lib/link-token.ts';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionEnds } from './api/client.ts';
import { keys } from './api/query-keys.ts';
import { queryClient } from './api/query-client.ts';
import { paths } from './paths.ts';
import { router } from './router.tsx';
import './styles/app.css';

// On a page that cannot ask the person to sign in again itself, go to the sign-in page, which leads back here.
whenSessionEnds(async () => {
  const { pathname, href } = router.state.location;
  if (pathname !== paths.signIn) {
    queryClient.removeQueries({ queryKey: keys.me });
    await router.navigate({ to: paths.signIn, search: { return_to: href } });
  }
  return false;
});

// Escape ends what an input method composes, as for Japanese or Chinese; a dialog stays open, a search keeps its words.
window.addEventListener(
  'keydown',
  (event) => {
    if (event.key === 'Escape' && (event.isComposing || event.keyCode === 229)) event.stopPropagation();
  },
  true,
);

const root = document.getElementById('root');
if (!root) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
