/** Intervals in the look of the report (`report/charts.py`): places across are percentages, so that they fit a phone. */

import type { Row, Scale } from "../documents";

const HEIGHT = 26;
const MIDDLE = HEIGHT / 2;
const CAP = 4;
const SHAPES = {
  circle: "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
  square: "M-4-4H4V4H-4Z",
  diamond: "M0-5.5 5.5 0 0 5.5-5.5 0Z",
};
type Shape = keyof typeof SHAPES;

/** Shape and class of each verdict's marker. */
const LOOKS: Record<string, [Shape, string]> = {
  "difference found": ["circle", "found"],
  "equivalent within the margin": ["diamond", "equal"],
  inconclusive: ["circle", "open"],
  "not measurable": ["square", "unknown"],
};

/** Words that fit a column. */
const SHORT: Record<string, string> = { "equivalent within the margin": "equivalent" };

/** Place of a value in percent, kept within the axis. */
export function at(scale: Scale, value: number): number {
  const share = (100 * (value - scale.min)) / (scale.max - scale.min || 1);
  return Math.round(100 * Math.min(Math.max(share, 0), 100)) / 100;
}

function Mark({ x, y, shape, look }: { x: string; y: number; shape: Shape; look: string }) {
  return <svg x={x} y={y} overflow="visible"><path d={SHAPES[shape]} class={`dot ${look}`} /></svg>;
}

function Line({ from, to = from, y1 = MIDDLE, y2 = MIDDLE, look }:
  { from: number; to?: number; y1?: number; y2?: number; look: string }) {
  return <line x1={`${from}%`} x2={`${to}%`} y1={y1} y2={y2} class={look} />;
}

const upright = { y1: 0, y2: HEIGHT };

/** An estimate: its dot, its interval, that of the page, zero, and the grey band of what noise alone gives. */
export function Strip({ row }: { row: Row }) {
  const { scale, value, low, high, page_low, page_high, floor } = row;
  if (!scale) return null;
  const zero = scale.zero;
  const signed = zero !== null && zero > scale.min && scale.min < 0;
  const way = signed && value !== null && zero !== null ? (value > zero ? "up" : "down") : "plain";
  const [shape, look] = LOOKS[row.verdict ?? ""] ?? ["circle", ""];
  const place = (v: number) => at(scale, v);
  const within = (v: number) => v >= scale.min && v <= scale.max;
  const band = floor === null ? null : signed ? [place(-floor), place(floor)] as const : [place(zero ?? 0), place(floor)] as const;
  return (
    <svg class="strip" width="100%" height={HEIGHT} role="img" aria-label={`${row.text.value} ${row.text.interval}`}>
      {band && <rect x={`${band[0]}%`} y={0} width={`${Math.max(band[1] - band[0], 0)}%`} height={HEIGHT} class="band" />}
      {scale.ticks?.map((tick) => tick.at !== zero && <Line key={tick.at} from={place(tick.at)} {...upright} look="grid" />)}
      {zero !== null && within(zero) && <Line from={place(zero)} {...upright} look="zero" />}
      {page_low !== null && page_high !== null && (
        <>
          <Line from={place(page_low)} to={place(page_high)} look={`thin ${way}`} />
          {[page_low, page_high].filter(within).map((end) => (
            <Line key={end} from={place(end)} y1={MIDDLE - CAP} y2={MIDDLE + CAP} look={`thin ${way}`} />
          ))}
        </>
      )}
      {low !== null && high !== null && <Line from={place(low)} to={place(high)} look={`whisker ${way}`} />}
      {value !== null && <Mark x={`${place(value)}%`} y={MIDDLE} shape={shape} look={`${way} ${look}`} />}
    </svg>
  );
}

/** Labels of ticks, to stand above strips of the same scale; where they are narrow every second is left out. */
export function Axis({ scale }: { scale: Scale }) {
  if (!scale.ticks?.length) return null;
  const zero = Math.max(scale.ticks.findIndex((tick) => tick.at === scale.zero), 0);
  const letters = Math.max(...scale.ticks.map((tick) => tick.text.length));
  const every = Math.max(Math.ceil((scale.ticks.length * (letters * 7.2 + 10)) / 230), 1);
  return (
    <svg class="axis" width="100%" height={24} aria-hidden="true">
      {scale.ticks.map((tick, place) => {
        const x = at(scale, tick.at);
        const anchor = x < 4 ? "start" : x > 96 ? "end" : "middle";
        return (
          <g key={tick.at}>
            {(place - zero) % every === 0 && <text x={`${x}%`} y={14} text-anchor={anchor} class="tick">{tick.text}</text>}
            <Line from={x} y1={18} y2={24} look="grid" />
          </g>
        );
      })}
    </svg>
  );
}

/** A verdict in words, and what else could explain it. */
export function Verdict({ row: { verdict, caveat } }: { row: Pick<Row, "verdict" | "caveat"> }) {
  if (verdict === null) return null;
  const [shape, look] = LOOKS[verdict] ?? ["circle", ""];
  return (
    <>
      <span class="nowrap">
        <svg class="key" width="12" height="12" aria-hidden="true"><Mark x="50%" y={6} shape={shape} look={look} /></svg>{" "}
        {SHORT[verdict] ?? verdict}{caveat && ","}
      </span>
      {caveat && <> <span class="quiet">{caveat}</span></>}
    </>
  );
}
