import { useMemo, useState } from "preact/hooks";
import { type Filter, patternOf, type Search } from "./filter";
import type { Step, Stream } from "./line";

/** What is looked for, and whether lines without it are left out. */
export interface Question {
  search: Search | null;
  onlyHits: boolean;
  streams: readonly Stream[];
  steps: readonly Step[];
  service: string;
}

const NOTHING: Question = { search: null, onlyHits: true, streams: [], steps: [], service: "" };

export interface Asked {
  question: Question;
  /** The lines that are wanted. It stays the same object as long as these do. */
  filter: Filter;
  /** What is highlighted. */
  pattern: RegExp | null;
  ask: (change: Partial<Question>) => void;
}

export function useQuestion(): Asked {
  const [question, setQuestion] = useState(NOTHING);
  const { search, onlyHits, streams, steps, service } = question;
  const wanted = onlyHits ? search : null;
  const filter = useMemo<Filter>(
    () => ({ search: wanted, streams, steps, service }),
    [wanted, streams, steps, service],
  );
  const pattern = useMemo(() => search && patternOf(search, "g"), [search]);
  return { question, filter, pattern, ask: (change) => setQuestion((before) => ({ ...before, ...change })) };
}
