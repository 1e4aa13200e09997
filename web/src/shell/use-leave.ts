import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { signOut } from '../api/auth.ts';
import { whenSessionEnds } from '../api/client.ts';
import { toastError } from '../components/toast.tsx';
import { useAskDiscard } from '../components/unsaved.tsx';
import { forgetDrafts } from '../lib/drafts.ts';
import { anythingUnsaved } from '../lib/unsaved.ts';

/** Signs the person out, and forgets what was shown to them and what they had typed; asks before that is lost. */
export function useLeave(): () => Promise<void> {
  const navigate = useNavigate();
  const client = useQueryClient();
  const askDiscard = useAskDiscard();
  return async () => {
    if (anythingUnsaved() && !(await askDiscard())) return;
    // What is still asked for meanwhile needs no new session.
    const stop = whenSessionEnds(() => Promise.resolve(false));
    try {
      await signOut();
      forgetDrafts();
      await navigate({ to: '/sign-in', ignoreBlocker: true });
      client.clear();
    } catch (error) {
      toastError(error);
    } finally {
      stop();
    }
  };
}
