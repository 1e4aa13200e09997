import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/**
 * Goes where the person wanted to, `path` on our own origin; what is no page of the application, such as the consent page,
 * is loaded from the server. Everything that was known is asked anew: another person may be signed in.
 */
export function useArrival(path = '/'): () => Promise<void> {
  const navigate = useNavigate();
  const router = useRouter();
  const client = useQueryClient();
  return useCallback(async () => {
    client.clear();
    if (path.startsWith('/api/') || path.startsWith('/.')) window.location.assign(path);
    else {
      await router.invalidate();
      await navigate({ href: path, replace: true });
    }
  }, [client, navigate, path, router]);
}
