import { useRouterState } from '@tanstack/react-router';
import { useState } from 'react';

/**
 * The state of a menu or dialog that is part of the page on which it was opened: it closes when another page is shown,
 * for instance on Back.
 */
export function useOpenHere() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [open, setOpen] = useState(false);
  const [before, setBefore] = useState(path);
  if (before !== path) {
    setBefore(path);
    setOpen(false);
  }
  return [open, setOpen] as const;
}
