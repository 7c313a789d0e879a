import "./bars.css";

interface Props {
  /** What is read out in place of the picture. */
  label: string;
  requests: readonly number[];
  /** Among the requests. */
  errors: readonly number[];
  height: number;
  /** What is said about a bar that is pointed at. */
  title?: (slot: number) => string;
}

const WIDTH = 240;

/** One bar for each slot of time, its errors at its foot. Plain shapes: no style that the page's policy would refuse. */
export function Bars({ label, requests, errors, height, title }: Props) {
  const highest = Math.max(1, ...requests);
  const width = WIDTH / requests.length;
  // What is there must be seen, however little it is.
  const tall = (count: number) => (count === 0 ? 0 : Math.max(1.5, (count / highest) * (height - 1)));
  return (
    <svg
      class="bars"
      role="img"
      aria-label={label}
      height={height}
      viewBox={`0 0 ${WIDTH} ${height}`}
      preserveAspectRatio="none"
    >
      <line class="bars-foot" x1="0" x2={WIDTH} y1={height} y2={height} />
      {requests.map((count, slot) => (
        <g key={slot}>
          {title && (
            <rect class="bars-target" x={slot * width} y="0" width={width} height={height}>
              <title>{title(slot)}</title>
            </rect>
          )}
          <rect class="bars-bar" x={slot * width} y={height - tall(count)} width={width * 0.8} height={tall(count)} />
          <rect
            class="bars-errors"
            x={slot * width}
            y={height - tall(errors[slot] ?? 0)}
            width={width * 0.8}
            height={tall(errors[slot] ?? 0)}
          />
        </g>
      ))}
    </svg>
  );
}
