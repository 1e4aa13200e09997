import { signOut } from '../api/auth.ts';
import { whenSessionEnds } from '../api/client.ts';
import { forgetPerson } from '../api/live.ts';
import { useMe } from '../api/me.ts';
import { toastError } from '../components/toast.tsx';
import { useAskDiscard } from '../components/unsaved.tsx';
import { anythingUnsaved, leaveFreely } from '../lib/unsaved.ts';

/** Signs the person out, and forgets what was shown to them and what they had typed; asks before that is lost. */
export function useLeave(): () => Promise<void> {
  const askDiscard = useAskDiscard();
  const { user } = useMe();
  return async () => {
    if (anythingUnsaved() && !(await askDiscard())) return;
    // What is still asked for meanwhile needs no new session.
    const stop = whenSessionEnds(() => Promise.resolve(false));
    try {
      await signOut(user.id);
      forgetPerson();
      leaveFreely();
      // Loading the page anew, nothing of the person is left in it.
      window.location.assign('/sign-in');
    } catch (error) {
      stop();
      toastError(error);
    }
  };
}
