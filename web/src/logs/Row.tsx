import { Component } from "preact";
import { text as texts } from "../text";
import type { Look } from "./ansi";
import { type TimeMode, timeText } from "./clock";
import { withHits } from "./hits";
import type { Line } from "./line";
import { parse } from "./parse";

export interface RowActions {
  onFold: (cursor: number) => void;
  onWhole: (cursor: number) => void;
  onContext: ((cursor: number) => void) | null;
}

interface Props {
  line: Line;
  top: number;
  times: TimeMode;
  /** The time that relative times and dates count from. */
  now: number;
  pattern: RegExp | null;
  isMarked: boolean;
  isUnfolded: boolean;
  isWhole: boolean;
  actions: RowActions;
}

/** One line. It is drawn again only when something of it has changed, so that a selection in it stays. */
export class Row extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    for (const name in next) {
      if (next[name as keyof Props] !== this.props[name as keyof Props]) return true;
    }
    return false;
  }

  override render({ line, top, times, now, pattern, isMarked, isUnfolded, isWhole, actions }: Props) {
    const t = texts().logs;
    if (line.missing !== undefined) {
      return (
        <div class="log-line gap" data-cursor={line.cursor} style={{ top }}>
          <span class="log-text">{t.gap(line.missing)}</span>
        </div>
      );
    }
    const { level, spans, shown, fields, cut } = parse(line, isWhole);
    const time = timeText(line.at, times, now, texts().language);
    return (
      <div
        class={`log-line ${line.stream} ${level ?? ""}${isMarked ? " marked" : ""}`}
        data-cursor={line.cursor}
        data-open={isUnfolded || isWhole ? "" : undefined}
        style={{ top }}
      >
        <a
          class="log-time"
          href={`#line=${line.cursor}`}
          tabIndex={-1}
          title={t.lineTitle(line.at, line.stream, line.step)}
          aria-label={time ? undefined : t.linkTo(line.at)}
        >
          {time || "#"}
        </a>
        {line.service && <span class="log-service">{line.service}</span>}
        <span class="log-text">
          {withHits(spans, shown, pattern).map(({ text, look, isHit }) => {
            const styled = look ? styledText(text, look) : text;
            return isHit ? <mark>{styled}</mark> : styled;
          })}
        </span>
        {cut > 0 && (
          <button type="button" class="log-more" onClick={() => actions.onWhole(line.cursor)}>
            {t.showAll(cut)}
          </button>
        )}
        {fields.length > 0 && (
          <button
            type="button"
            class="log-more"
            aria-expanded={isUnfolded}
            aria-label={t.fields(fields.length)}
            onClick={() => actions.onFold(line.cursor)}
          >
            {isUnfolded ? "−" : "+"}
          </button>
        )}
        {actions.onContext && (
          <button type="button" class="log-more" onClick={() => actions.onContext?.(line.cursor)}>
            {t.context}
          </button>
        )}
        {isUnfolded && (
          <dl class="log-fields">
            {fields.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    );
  }
}

const FLAGS = ["bold", "dim", "italic", "underline", "strike"] as const;

/** Any colour, as dark or as light as it must be to be read on the theme. */
const readable = (colour: string): string =>
  `light-dark(oklch(from ${colour} min(l, 0.48) c h), oklch(from ${colour} max(l, 0.75) c h))`;

/** The theme's colours are classes. Others are set through the CSSOM, which the served policy allows. */
function styledText(text: string, look: Look) {
  const { fore, back } = look.inverse ? { fore: look.back ?? "var(--sunken)", back: look.fore ?? "var(--ink)" } : look;
  const classes: string[] = FLAGS.filter((flag) => look[flag]).map((flag) => `a-${flag}`);
  const style: Record<string, string> = {};
  if (typeof fore === "number") classes.push(`a-f${fore}`);
  else if (fore) style.color = fore.startsWith("rgb") ? readable(fore) : fore;
  if (typeof back === "number") classes.push(`a-b${back}`);
  else if (back)
    style.backgroundColor = back.startsWith("rgb") ? `color-mix(in oklab, ${back} 25%, var(--sunken))` : back;
  return (
    <span class={classes.join(" ")} style={style}>
      {text}
    </span>
  );
}
