import { useEffect, useState } from 'react';

const restMillis = 1000;

/** A value once it has stayed the same for a moment: what is said aloud while somebody types, and not with each key. */
export function useRested<T extends string | null>(value: T): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const rest = setTimeout(() => setRested(value), restMillis);
    return () => clearTimeout(rest);
  }, [value]);
  return rested;
}
