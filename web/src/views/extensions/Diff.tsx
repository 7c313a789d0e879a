import { useText } from "../../text";
import { diff } from "./diff";

/** Two texts, line by line. What is the same is only counted. */
export function Diff({ before, after }: { before: string; after: string }) {
  const t = useText().extensionText;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keys
    <section class="diff" aria-label={t.compare} tabIndex={0}>
      {diff(before, after).map((part) => (
        <div key={part.number} class={part.is}>
          {part.is === "same" && t.same(part.count)}
          {part.is === "gone" && <del>− {part.text}</del>}
          {part.is === "come" && <ins>+ {part.text}</ins>}
        </div>
      ))}
    </section>
  );
}
