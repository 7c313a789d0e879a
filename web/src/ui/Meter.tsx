import "./meter.css";

interface Props {
  label: string;
  /** What it says in words. */
  text: string;
  /** From 0 to 1. */
  part: number;
  tone?: "warn" | "bad" | undefined;
}

/** How much of something is used. The bar only repeats what the words say. */
export function Meter({ label, text, part, tone }: Props) {
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 100);
  return (
    <div class="meter-frame">
      <div class="row between">
        <span>{label}</span>
        <span class="muted">{text}</span>
      </div>
      <div class={`meter ${tone ?? ""}`} aria-hidden="true">
        <div style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}
