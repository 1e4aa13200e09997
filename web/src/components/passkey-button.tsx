import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { signInWithPasskey } from '../api/auth.ts';
import { ApiError } from '../api/client.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/** Signs in with a passkey. */
export function PasskeyButton({ onDone }: { onDone: () => Promise<void> }) {
  const [fault, setFault] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const ask = async () => {
    setAsking(true);
    setFault(null);
    try {
      await signInWithPasskey();
      await onDone();
    } catch (error) {
      // The browser's own message for "closed, timed out or not allowed" does not help users.
      setFault(error instanceof ApiError ? error.message : 'No passkey was used. Try again, or sign in another way.');
    } finally {
      setAsking(false);
    }
  };
  return (
    <>
      {fault && (
        <Notice tone="bad" className="mb-4">
          {fault}
        </Notice>
      )}
      <Button pending={asking} onClick={() => void ask()} icon={<KeyRound className="size-4" />} className="w-full">
        Use a passkey
      </Button>
    </>
  );
}
