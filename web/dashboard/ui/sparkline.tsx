/** A small line without axes, as a picture: there may be one in each row of a table. */
interface SparklineProps {
  readonly values: readonly (number | null)[];
}

const [WIDTH, HEIGHT] = [60, 18];

export function Sparkline({ values }: SparklineProps) {
  const most = Math.max(...values.map((one) => one ?? 0), 0);
  if (most === 0) return <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" />;
  const points = values
    .map((value, at) => {
      const x = (at / Math.max(1, values.length - 1)) * WIDTH;
      return value === null ? "" : `${x.toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`;
    })
    .filter(Boolean);
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
