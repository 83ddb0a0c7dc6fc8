/** A share as a bar. The number is beside it, so that screen readers do not get it twice. */
interface BarProps {
  /** 0 to 1; more is shown as full. */
  readonly share: number;
  readonly kind?: "warn" | "bad";
}

export const Bar = ({ share, kind }: BarProps) => (
  <div class={`bar ${kind ? `bar-${kind}` : ""}`} aria-hidden="true">
    <span style={{ width: `${share > 0 ? Math.min(100, Math.max(1.5, share * 100)) : 0}%` }} />
  </div>
);
