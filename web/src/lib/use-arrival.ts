import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/**
 * Returns a function that goes to the page the person wanted, `path` on our own origin; a path outside the application,
 * such as the consent page, is loaded from the server. So is any page in a window that another site may have opened:
 * the sign-in pages let that site keep its reference to the window, the others do not. All cached data is cleared: another person may be signed in.
 */
export function useArrival(path = '/'): () => Promise<void> {
  const navigate = useNavigate();
  const router = useRouter();
  const client = useQueryClient();
  return useCallback(async () => {
    client.clear();
    if (path.startsWith('/api/') || path.startsWith('/.') || window.opener !== null) window.location.assign(path);
    else {
      await router.invalidate();
      await navigate({ href: path, replace: true });
    }
  }, [client, navigate, path, router]);
}
