/** The measurements run by run, their summary, the targets, and the scaling curve. */
import { median, table } from "../lib/report.ts";
import type { Figures } from "../speed/loads.ts";
import { fitOf, type Parts, speedUp } from "./curve.ts";
import { type Bounds, COMPARED, CONNECTS_AT_MOST, costOf, THROUGHPUTS } from "./loads.ts";
import type { System } from "./systems.ts";

/** Runs of the same program differ by this much. */
const NOT_SLOWER = 0.95;
const CURVE = [1, 2, 4, 8, 16] as const;
const EVERYWHERE = Number.POSITIVE_INFINITY;

interface Verdict {
  readonly text: string;
  readonly bound: string;
  readonly ratio: number;
  readonly least: number;
  readonly most: number;
  readonly holds: boolean;
  /** What it would be if these processes added to one no more than bare ones do. NaN: not measured. */
  readonly floor: number;
}

/** Rows that the loads do not name. */
const CONNECTS = {
  id: "connects",
  title: "connect, authenticate, subscribe, roster: the first ones of a service",
  figure: "cpuUsPerConnect",
} as const;
const WARM = {
  id: "connectsWarm",
  title: "the same, when it has served many",
  figure: "cpuUsPerConnect",
} as const;

const JOIN = { id: "join", title: "a room: join, connect, subscribe, roster", figure: "usPerParticipant" } as const;

export class WorkersReport {
  /** By load and system, one entry per run. */
  private readonly found = new Map<string, Map<string, Figures[]>>();

  constructor(
    private readonly one: System,
    private readonly several: readonly System[],
    private readonly before: System | undefined,
    private readonly floors: readonly System[],
  ) {}

  add(system: string, load: string, figures: Figures): void {
    const of = this.found.get(load) ?? new Map<string, Figures[]>();
    this.found.set(load, of);
    of.set(system, [...(of.get(system) ?? []), figures]);
  }

  /** NaN: not measured. */
  private median(load: string, { name }: System, figure: string): number {
    return median((this.found.get(load)?.get(name) ?? []).map((one) => one[figure] ?? Number.NaN));
  }

  /** One ratio per run: within a run both took turns. */
  private ratios(load: string, a: System, b: System, figure: string): number[] {
    const of = ({ name }: System): number[] =>
      (this.found.get(load)?.get(name) ?? []).map((one) => one[figure] ?? Number.NaN);
    const divisors = of(b);
    return of(a).map((value, run) => value / (divisors[run] ?? Number.NaN));
  }

  get verdicts(): Verdict[] {
    const { one, before } = this;
    const all: Verdict[] = [];
    const judge = (
      text: string,
      ratios: readonly number[],
      bound: { atMost?: number; atLeast?: number },
      floor = Number.NaN,
    ): void => {
      const { atMost = Number.POSITIVE_INFINITY, atLeast = 0 } = bound;
      const ratio = median(ratios);
      if (Number.isNaN(ratio)) return;
      const shown = bound.atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
      all.push({ text, bound: shown, ratio, least, most, holds: ratio <= atMost && ratio >= atLeast, floor });
    };
    const judgeWorkers = (title: string, load: string, figure: string, bounds: Bounds): void => {
      for (const system of this.several) {
        const atMost = bounds[system.workers];
        if (atMost === undefined) continue;
        const floor = this.floorOf(load, system.workers, figure);
        judge(`${title}: CPU of ${system.name}`, this.ratios(load, system, one, figure), { atMost }, floor);
      }
    };
    for (const compared of COMPARED)
      judgeWorkers(compared.load.title, compared.load.id, costOf(compared).figure, compared.atMost ?? {});
    for (const { title, id, figure } of [CONNECTS, WARM, JOIN]) judgeWorkers(title, id, figure, CONNECTS_AT_MOST);
    if (before) {
      for (const compared of COMPARED) {
        const { load } = compared;
        const ratios = this.ratios(load.id, before, one, costOf(compared).figure);
        judge(`${load.title}: one process against before`, ratios, { atLeast: NOT_SLOWER });
      }
      const connects = this.ratios(CONNECTS.id, before, one, CONNECTS.figure);
      judge("connects per CPU-second: one process against before", connects, { atLeast: NOT_SLOWER });
    }
    return all;
  }

  /** One process, and the CPU that bare processes take more than a bare one. */
  private floorOf(load: string, workers: number, figure: string): number {
    const [bareOne, ...bare] = this.floors;
    const several = bare.find((system) => system.workers === workers);
    if (!bareOne || !several) return Number.NaN;
    const of = ({ name }: System): number[] =>
      (this.found.get(load)?.get(name) ?? []).map((found) => found[figure] ?? Number.NaN);
    const [ones, bareOnes] = [of(this.one), of(bareOne)];
    return median(
      of(several).map((cost, run) => 1 + (cost - (bareOnes[run] ?? Number.NaN)) / (ones[run] ?? Number.NaN)),
    );
  }

  get holds(): boolean {
    return this.verdicts.every(({ holds }) => holds);
  }

  text(): string {
    const verdicts = this.verdicts.map(({ text, bound, ratio, least, most, holds, floor }) => [
      text,
      bound,
      ratio.toFixed(2),
      `${least.toFixed(2)} to ${most.toFixed(2)}`,
      Number.isNaN(floor) ? "" : floor.toFixed(2),
      holds ? "holds" : "MISSED",
    ]);
    return [
      this.cpuText(),
      this.throughputText(),
      this.curveText(),
      table(["target", "bound", "is", "runs", "floor", ""], verdicts),
    ].join("\n\n");
  }

  data(): object {
    const runs = Object.fromEntries([...this.found].map(([load, of]) => [load, Object.fromEntries(of)]));
    return { runs, targets: this.verdicts };
  }

  private get all(): System[] {
    return [this.one, ...this.several, ...(this.before ? [this.before] : [])];
  }

  /** With several workers, the ratio to one process follows in brackets. */
  private cells(load: string, figure: string): string[] {
    return this.all.map((system) => {
      const value = shown(this.median(load, system, figure));
      if (system.workers === 1) return value;
      const ratio = median(this.ratios(load, system, this.one, figure));
      return Number.isNaN(ratio) ? value : `${value} (${ratio.toFixed(2)} ×)`;
    });
  }

  private cpuText(): string {
    const heads = ["all processes on one core", ...this.all.map(({ name }) => name)];
    const loads = COMPARED.map((compared) => {
      const { figure, unit } = costOf(compared);
      return [`${compared.load.title}: ${unit}`, ...this.cells(compared.load.id, figure)];
    });
    return table(heads, [
      ...loads,
      [`${CONNECTS.title}: µs of CPU`, ...this.cells(CONNECTS.id, CONNECTS.figure)],
      [`${WARM.title}: µs of CPU`, ...this.cells(WARM.id, WARM.figure)],
      [`${JOIN.title}: µs of CPU per participant`, ...this.cells(JOIN.id, JOIN.figure)],
      ["all processes without clients: MiB of RSS", ...this.cells("idle", "mib")],
      ["all processes without clients: % of a core", ...this.cells("idle", "cpuPercent")],
    ]);
  }

  private throughputText(): string {
    const systems = this.all.filter(({ name }) => this.found.get(THROUGHPUTS[0]?.id ?? "")?.has(name));
    const rows = THROUGHPUTS.flatMap(({ id, title }) =>
      systems.map((system) => [
        `${title}: ${system.name}`,
        shown(this.median(id, system, "deliveriesPerSecond")),
        median(this.ratios(id, system, this.one, "deliveriesPerSecond")).toFixed(2),
        this.median(id, system, "serverCores").toFixed(2),
        this.median(id, system, "loaderCores").toFixed(2),
      ]),
    );
    const connects = systems.map((system) => [
      `connects: ${system.name}`,
      shown(this.median("connectRate", system, "connectsPerSecond")),
      median(this.ratios("connectRate", system, this.one, "connectsPerSecond")).toFixed(2),
    ]);
    const heads = [
      "all cores, shared with the loader",
      "per second",
      "against one",
      "server's cores",
      "loader's cores",
    ];
    return table(heads, [...rows, ...connects]);
  }

  /** What N workers on N cores would do, and the parts that it is computed from. */
  private curveText(): string {
    const rows: string[][] = [];
    const line = (title: string, receivers: number, cost: (system: System) => number): void => {
      const several = this.several
        .map((system) => ({ workers: system.workers, cpu: cost(system) }))
        .filter(({ cpu }) => !Number.isNaN(cpu));
      const parts: Parts = { receivers, one: cost(this.one), several };
      if (Number.isNaN(parts.one) || several.length === 0) return;
      const { fixed, hop } = fitOf(parts);
      const us = [parts.one, fixed, hop].map((value) => value.toFixed(0));
      rows.push([title, ...us, ...CURVE.map((workers) => speedUp(workers, parts).toFixed(1))]);
    };
    for (const compared of COMPARED) {
      const { load, receivers } = compared;
      const { figure, pieces } = costOf(compared);
      // Nothing of it goes to other workers: it costs the same however many there are.
      if (receivers > 0) line(load.title, receivers, (system) => (this.median(load.id, system, figure) * pieces) / 1e3);
    }
    // Every other worker learns of the peer, and almost every one has members of its channel.
    line("connects", EVERYWHERE, (system) => this.median(WARM.id, system, WARM.figure));
    const heads = ["computed: times the work of one process, N workers on N cores", "one, µs", "fixed, µs", "hop, µs"];
    return table([...heads, ...CURVE.map((workers) => `N = ${workers}`)], rows);
  }
}

function shown(value: number): string {
  if (Number.isNaN(value)) return "-";
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}
