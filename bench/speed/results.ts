/** What was measured, run by run, and what it comes to. */
import { median, table } from "../lib/figures.ts";
import { type Figures, LOADS, PARLEY } from "./loads.ts";
import { judge, type Medians, type Verdict } from "./targets.ts";

interface Row {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly figure: string;
}

/** Those beyond the loads of the loader. */
const EXTRA: readonly Row[] = [
  { id: "g", title: "15,000 idle connections in channels of 10", unit: "bytes of RSS each", figure: "bytes" },
  { id: "j", title: "presence storm: 2,000 join one channel", unit: "µs of CPU a join", figure: "cpuUsPerJoin" },
];
const ROWS: readonly Row[] = [...LOADS, ...EXTRA];

export class Results {
  private readonly versions = new Map<string, string>();
  private readonly missing = new Map<string, string>();
  /** By load and contender, one entry a run. */
  private readonly runs = new Map<string, Map<string, Figures[]>>();
  private readonly failures: string[] = [];

  found(name: string, what: { readonly version: string } | { readonly missing: string }): void {
    if ("version" in what) this.versions.set(name, what.version);
    else this.missing.set(name, what.missing);
  }

  add(load: string, contender: string, figures: Figures | undefined): void {
    if (!figures) return;
    const of = this.runs.get(load) ?? new Map<string, Figures[]>();
    this.runs.set(load, of);
    of.set(contender, [...(of.get(contender) ?? []), figures]);
  }

  failed(load: string, contender: string, why: string): void {
    this.failures.push(`${contender} (${load}): ${why}`);
  }

  /** The middle of any figure. */
  median(load: string, contender: string, figure: string): number | undefined {
    const values = (this.runs.get(load)?.get(contender) ?? []).flatMap((one) => one[figure] ?? []);
    return values.length > 0 ? median(values) : undefined;
  }

  readonly medians: Medians = (load, contender) => {
    const row = ROWS.find(({ id }) => id === load);
    return row && this.median(load, contender, row.figure);
  };

  get contenders(): string[] {
    return [...this.versions.keys()];
  }

  get verdicts(): Verdict[] {
    return judge(this.medians);
  }

  get holds(): boolean {
    return this.verdicts.every(({ holds }) => holds !== false);
  }

  text(): string {
    const { contenders } = this;
    const rows = ROWS.filter(({ id }) => this.runs.has(id));
    const cells = (row: Row): string[] => contenders.map((name) => shown(this.medians(row.id, name)));
    const lines = rows.map((row) => [`(${row.id}) ${row.title}: ${row.unit}`, ...cells(row)]);
    const verdicts = this.verdicts.map(({ text, bound, ratio, holds }) => [
      text,
      bound,
      ratio?.toFixed(2) ?? "not measured",
      holds === undefined ? "" : holds ? "holds" : "MISSED",
    ]);
    return [
      table(["medians", ...contenders], lines),
      `\n${[...this.versions].map(([name, version]) => `${name}: ${version}`).join("\n")}`,
      ...[...this.missing].map(([name, why]) => `${name} is missing: ${why}`),
      ...(this.failures.length > 0 ? [`\nwhat went wrong:\n${this.failures.join("\n")}`] : []),
      `\n${table(["target", "bound", "is", ""], verdicts)}`,
      this.spread(),
    ].join("\n");
  }

  /** How far the runs of Parley lie apart: a median of wild runs says little. */
  private spread(): string {
    const row = ROWS.find(({ id }) => id === "a");
    const values = (this.runs.get("a")?.get(PARLEY) ?? []).map((one) => one[row?.figure ?? ""] ?? 0);
    if (values.length < 2) return "";
    return `\nspread of (a), Parley: ${shown(Math.min(...values))} to ${shown(Math.max(...values))}`;
  }

  data(): object {
    const loads = Object.fromEntries(
      ROWS.map(({ id, title, unit, figure }) => [
        id,
        { title, unit, figure, runs: Object.fromEntries(this.runs.get(id) ?? []) },
      ]),
    );
    return {
      versions: Object.fromEntries(this.versions),
      missing: Object.fromEntries(this.missing),
      failures: this.failures,
      loads,
      targets: this.verdicts,
    };
  }
}

function shown(value: number | undefined): string {
  if (value === undefined) return "-";
  return value < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");
}
