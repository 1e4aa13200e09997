import { signOut } from '../api/auth.ts';
import { whenSessionEnds } from '../api/client.ts';
import { isUploading } from '../api/document-uploads.ts';
import { forgetPerson } from '../api/live.ts';
import { useMe } from '../api/me.ts';
import { useConfirm } from '../components/confirm-dialog.tsx';
import { toastError } from '../components/toast.tsx';
import { useAskDiscard } from '../components/unsaved.tsx';
import { anythingUnsaved, leaveFreely } from '../lib/unsaved.ts';
import { paths } from '../paths.ts';

/**
 * Returns the function that signs the person out and deletes cached data and unsaved input; it asks before input or
 * uploads in progress are lost.
 */
export function useLeave(): () => Promise<void> {
  const askDiscard = useAskDiscard();
  const confirm = useConfirm();
  const { user } = useMe();
  const leave = async () => {
    // Requests still in progress must not ask for a new sign-in.
    const stop = whenSessionEnds(() => Promise.resolve(false));
    try {
      await signOut(user.id);
    } catch (error) {
      stop();
      throw error;
    }
    forgetPerson();
    leaveFreely();
    // Reloading leaves none of the person's data in memory.
    window.location.assign(paths.signIn);
  };
  return async () => {
    if (anythingUnsaved() && !(await askDiscard())) return;
    if (!isUploading()) return leave().catch(toastError);
    confirm(
      {
        title: 'Sign out while files are uploading?',
        body: 'Files that have not arrived yet will not be uploaded.',
        action: 'Sign out',
        danger: true,
      },
      leave,
    );
  };
}
