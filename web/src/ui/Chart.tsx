import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { useText } from "../text";
import { AsTable } from "./AsTable";
import { ceiling, lastOf, pathOf, type Values } from "./chart";
import { Table } from "./Table";
import { exact } from "./time";
import "./chart.css";

export interface Line {
  name: string;
  values: Values;
}

interface Props {
  title: string;
  /** At most three, which are told apart by their dashes as well as by their colours. */
  lines: Line[];
  /** The beginning of the first value. */
  from: string;
  stepSeconds: number;
  format: (value: number) => string;
  ofBytes?: boolean;
}

const WIDTH = 600;
const HEIGHT = 120;

/** Lines over time. The pointer and the arrow keys choose a moment, whose values are told in words; all of them are in a table too. */
export function Chart({ title, lines, from, stepSeconds, format, ofBytes = false }: Props) {
  const t = useText();
  const [chosen, choose] = useState<number | null>(null);
  const all = lines.map(({ values }) => values);
  const count = Math.max(1, ...all.map((values) => values.length));
  const last = lastOf(all);
  const at = Math.min(chosen ?? last ?? 0, count - 1);
  const most = ceiling(all, ofBytes);
  const begin = (slot: number) => exact(Date.parse(from) + slot * stepSeconds * 1000, t.language);
  const said = (value: number | null | undefined) => (value == null ? t.figures.nothing : format(value));
  const told = lines.map(({ name, values }) => `${name} ${said(values[at])}`).join(", ");

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const moves: Record<string, number> = {
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      PageDown: at - Math.ceil(count / 10),
      PageUp: at + Math.ceil(count / 10),
      Home: 0,
      End: count - 1,
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(Math.min(count - 1, Math.max(0, to)));
  };
  const onPointerMove = (event: TargetedPointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - left) / Math.max(1, width);
    choose(Math.min(count - 1, Math.max(0, Math.floor(part * count))));
  };

  return (
    <figure class="card stack chart">
      <figcaption class="row between">
        <h2>{title}</h2>
        <span class="muted small">{begin(at)}</span>
      </figcaption>
      <ul class="chart-legend">
        {lines.map(({ name, values }, index) => (
          <li key={name} class="row">
            <svg class={`chart-line-${index}`} width="24" height="8" viewBox="0 0 24 8" aria-hidden="true">
              <path d="M0 4H24" />
            </svg>
            <span>{name}</span> <strong>{said(values[at])}</strong>
          </li>
        ))}
      </ul>
      <div class="chart-frame">
        <div class="chart-scale muted small" aria-hidden="true">
          <span>{format(most)}</span>
          <span>{format(0)}</span>
        </div>
        <div
          class="chart-area"
          role="slider"
          tabIndex={0}
          aria-label={t.figures.moment(title)}
          aria-valuemin={0}
          aria-valuemax={count - 1}
          aria-valuenow={at}
          aria-valuetext={`${begin(at)}: ${told}`}
          onKeyDown={onKeyDown}
          onPointerMove={onPointerMove}
          onPointerDown={onPointerMove}
          onPointerLeave={() => choose(null)}
        >
          <svg height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {[0, 0.5, 1].map((part) => (
              <line key={part} class="chart-grid" x1="0" x2={WIDTH} y1={part * HEIGHT} y2={part * HEIGHT} />
            ))}
            {chosen !== null && (
              <line
                class="chart-cursor"
                x1={((at + 0.5) * WIDTH) / count}
                x2={((at + 0.5) * WIDTH) / count}
                y1="0"
                y2={HEIGHT}
              />
            )}
            {lines.map(({ name, values }, index) => (
              <path key={name} class={`chart-line-${index}`} d={pathOf(values, most, WIDTH, HEIGHT)} />
            ))}
          </svg>
        </div>
      </div>
      <AsTable title={title}>
        {() => <ValueTable title={title} lines={lines} count={count} begin={begin} said={said} />}
      </AsTable>
    </figure>
  );
}

interface TableProps {
  title: string;
  lines: Line[];
  count: number;
  begin: (slot: number) => string;
  said: (value: number | null | undefined) => string;
}

/** Moments without any value are left out. */
function ValueTable({ title, lines, count, begin, said }: TableProps) {
  const t = useText();
  const slots = Array.from({ length: count }, (_, slot) => slot);
  const rows = slots.filter((slot) => lines.some(({ values }) => (values[slot] ?? null) !== null));
  return (
    <Table
      label={title}
      columns={[
        { title: t.figures.time, cell: (slot: number) => begin(slot), isName: true },
        ...lines.map(({ name, values }) => ({
          title: name,
          cell: (slot: number) => said(values[slot]),
          numeric: true,
        })),
      ]}
      rows={rows.reverse()}
      rowKey={String}
    />
  );
}
