import { useEffect, useState } from 'react';

/**
 * Returns a value once it has not changed for a while, by default for a second: text is announced after a pause in
 * typing, not after each key.
 */
export function useRested<T extends string | null>(value: T, millis = 1000): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const rest = setTimeout(() => setRested(value), millis);
    return () => clearTimeout(rest);
  }, [value, millis]);
  return rested;
}
