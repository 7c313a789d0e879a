interface Props {
  /** What it is, for those who do not see what is above it. */
  label: string;
  text: string;
  class?: string;
}

/** What a program or a code host has said, as it came. */
export function Evidence({ label, text, class: more = "" }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class={`evidence ${more}`} aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}
