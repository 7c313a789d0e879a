import { useEffect, useState } from "preact/hooks";

/** The line that the address leads to: `#line=<cursor>`. */
export function linkedLine(): number | null {
  const found = /^#line=(\d{1,15})$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

/** The line that is marked, by a link or as the present hit, and how to mark another one. */
export function useMarked(onLink: (line: number) => void): [number | null, (line: number | null) => void] {
  const [marked, setMarked] = useState(linkedLine);
  useEffect(() => {
    const look = () => {
      const line = linkedLine();
      setMarked(line);
      if (line !== null) onLink(line);
    };
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, [onLink]);
  return [marked, setMarked];
}
