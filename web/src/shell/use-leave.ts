import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { signOut } from '../api/auth.ts';
import { toastError } from '../components/toast.tsx';

/** Signs the person out, and forgets what was shown to them. */
export function useLeave(): () => Promise<void> {
  const navigate = useNavigate();
  const client = useQueryClient();
  return async () => {
    try {
      await signOut();
      await navigate({ to: '/sign-in' });
      client.clear();
    } catch (error) {
      toastError(error);
    }
  };
}
