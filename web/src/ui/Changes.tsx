import type { ComponentChildren } from "preact";
import "./changes.css";

/** One entry for each value that changes. */
export function Changes({ children }: { children: ComponentChildren }) {
  return <ul class="changes">{children}</ul>;
}

/** What was and what will be; null where there is none. */
export function BeforeAfter({ before, after }: { before: string | null; after: string | null }) {
  return (
    <code>
      {before !== null && <del>{before}</del>}
      {after !== null && <ins>{after}</ins>}
    </code>
  );
}
