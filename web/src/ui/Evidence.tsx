import "./evidence.css";

interface Props {
  /** What it is, for those who do not see what is above it. */
  label: string;
  text: string;
  /** More of it is seen at once. */
  long?: boolean;
}

/** A text of a program or a code host, exactly as it was: an output, a command, the body of a request. What is longer scrolls. */
export function Evidence({ label, text, long = false }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class={long ? "evidence long" : "evidence"} aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}
