import { useEffect, useState } from 'react';

const restMillis = 1000;

/**
 * Returns a value once it has not changed for a second: text is announced after a pause in typing, not after each key.
 */
export function useRested<T extends string | null>(value: T): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const rest = setTimeout(() => setRested(value), restMillis);
    return () => clearTimeout(rest);
  }, [value]);
  return rested;
}
