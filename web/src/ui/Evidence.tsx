import "./evidence.css";

/** A text of a program, exactly as it was: an output, a command, the body of a request. A long one scrolls. */
export function Evidence({ text, long = false }: { text: string; long?: boolean }) {
  return <pre class={long ? "evidence long" : "evidence"}>{text}</pre>;
}
