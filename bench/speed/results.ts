/** The measurements run by run, and their summary. */
import { median, table } from "../lib/report.ts";
import { BEFORE, type Figures, LOADS } from "./loads.ts";
import { markdown } from "./markdown.ts";
import { judge, type Measured, type Verdict } from "./targets.ts";

interface Row {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly figure: string;
}

/** Loads that do not use the loader. */
const EXTRA: readonly Row[] = [
  { id: "g", title: "15,000 idle connections in channels of 10", unit: "bytes of RSS each", figure: "bytes" },
  { id: "j", title: "presence storm: 2,000 join one channel", unit: "µs of CPU per join", figure: "cpuUsPerJoin" },
];
const ROWS: readonly Row[] = [...LOADS, ...EXTRA];

export class Results {
  private readonly versions = new Map<string, string>();
  private readonly missing = new Map<string, string>();
  /** By load and contender, at the index of the run. */
  private readonly runs = new Map<string, Map<string, (Figures | undefined)[]>>();
  private lastRun = 0;
  private readonly failures: string[] = [];

  /** `isPart`: only some loads or contenders. A complete run also names what could not be measured. */
  constructor(private readonly isPart: boolean) {}

  found(name: string, what: { readonly version: string } | { readonly missing: string }): void {
    if ("version" in what) this.versions.set(name, what.version);
    else this.missing.set(name, what.missing);
  }

  /** Runs count from 1. */
  add(run: number, load: string, contender: string, figures: Figures | undefined): void {
    if (!figures) return;
    this.lastRun = Math.max(run, this.lastRun);
    const of = this.runs.get(load) ?? new Map<string, (Figures | undefined)[]>();
    this.runs.set(load, of);
    const all = of.get(contender) ?? [];
    of.set(contender, all);
    all[run - 1] = figures;
  }

  failed(load: string, contender: string, why: string): void {
    this.failures.push(`${contender} (${load}): ${why}`);
  }

  /** The median of any measurement. */
  median(load: string, contender: string, figure: string): number | undefined {
    const values = (this.runs.get(load)?.get(contender) ?? []).flatMap((one) => one?.[figure] ?? []);
    return values.length > 0 ? median(values) : undefined;
  }

  readonly medians: Measured = (load, contender) => this.median(load, contender, figureOf(load));

  private readonly measuredIn =
    (run: number): Measured =>
    (load, contender) =>
      this.runs.get(load)?.get(contender)?.[run - 1]?.[figureOf(load)];

  get contenders(): string[] {
    return [...this.versions.keys()];
  }

  get verdicts(): Verdict[] {
    const runs = Array.from({ length: this.lastRun }, (_, i) => this.measuredIn(i + 1));
    return judge(runs, this.contenders.includes(BEFORE)).filter(({ ratio }) => ratio !== undefined || !this.isPart);
  }

  get holds(): boolean {
    return this.verdicts.every(({ holds }) => holds !== false);
  }

  text(): string {
    const { contenders } = this;
    const rows = ROWS.filter(({ id }) => this.runs.has(id));
    const cells = (row: Row): string[] => contenders.map((name) => shown(this.medians(row.id, name)));
    const lines = rows.map((row) => [`(${row.id}) ${row.title}: ${row.unit}`, ...cells(row)]);
    const verdicts = this.verdicts.map(({ text, bound, ratio, least, most, holds }) => [
      text,
      bound,
      ratio?.toFixed(2) ?? "not measured",
      ratio === undefined ? "" : `${least.toFixed(2)} to ${most.toFixed(2)}`,
      holds === undefined ? "" : holds ? "holds" : "MISSED",
    ]);
    return [
      table(["medians", ...contenders], lines),
      `\n${[...this.versions].map(([name, version]) => `${name}: ${version}`).join("\n")}`,
      ...[...this.missing].map(([name, why]) => `${name} is missing: ${why}`),
      ...(this.failures.length > 0 ? [`\nwhat went wrong:\n${this.failures.join("\n")}`] : []),
      `\n${table(["target", "bound", "is", "runs", ""], verdicts)}`,
    ].join("\n");
  }

  /** The tables of docs/performance.md. */
  markdown(): string {
    const { contenders, medians, verdicts } = this;
    return markdown({ contenders, medians, verdicts, rows: ROWS.filter(({ id }) => this.runs.has(id)) });
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

const figureOf = (load: string): string => ROWS.find(({ id }) => id === load)?.figure ?? "";

function shown(value: number | undefined): string {
  if (value === undefined) return "-";
  return value < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");
}
