/** The measurements round by round, and their summary. */
import { median, table } from "../lib/report.ts";
import type { FanOut, FanOutFigures } from "./fan-out.ts";
import type { IdleFigures } from "./idle.ts";
import type { PresenceFigures } from "./presence.ts";
import { ALONE, BEFORE, onNats } from "./systems.ts";

/** The load of direct messages. */
export const DIRECT = "direct messages, 1 in flight";

export const keyOf = ({ subscribers, inFlight }: FanOut): string => `${subscribers} subscribers, ${inFlight} in flight`;

/** What two nodes may cost, compared with one, by load. */
const TWO_NODES_AT_MOST: Readonly<Record<string, number>> = {
  [keyOf({ subscribers: 1000, inFlight: 1 })]: 1.12,
  [keyOf({ subscribers: 10, inFlight: 1 })]: 2.2,
  [keyOf({ subscribers: 10, inFlight: 16 })]: 2,
  [DIRECT]: 2,
};
/** The same for a connect that joins a channel of ten. */
const CONNECT_AT_MOST = 1.6;
/** One process of this tree is compared with one of another by this load. */
const JUDGED = keyOf({ subscribers: 1000, inFlight: 1 });
/** RSS of a node on NATS per idle peer. */
const NODE_BYTES_MAX = 5000;
/** Runs of the same program differ by this much. */
const NOT_SLOWER = 1.05;

interface Verdict {
  readonly text: string;
  /** What was measured, in the unit of its bound. */
  readonly ratio: number;
  readonly atMost: number;
  readonly holds: boolean;
}

class Rounds<Figures extends object> {
  readonly all = new Map<string, Figures[]>();

  add(system: string, figures: Figures): void {
    this.all.set(system, [...(this.all.get(system) ?? []), figures]);
  }

  /** NaN: not measured. */
  median(system: string, figure: keyof Figures): number {
    return median((this.all.get(system) ?? []).map((one) => Number(one[figure])));
  }
}

export class Report {
  private readonly fanOuts = new Map<string, Rounds<FanOutFigures>>();
  readonly presence = new Rounds<PresenceFigures>();
  readonly idle = new Rounds<IdleFigures>();
  /** CPU seconds of PostgreSQL during each system's run, and the length of the run. */
  readonly postgres = new Rounds<{ readonly cpu: number; readonly seconds: number }>();

  constructor(private readonly systems: readonly string[]) {}

  /** `load`: its name. */
  add(load: string, system: string, figures: FanOutFigures): void {
    const rounds = this.fanOuts.get(load) ?? new Rounds<FanOutFigures>();
    this.fanOuts.set(load, rounds);
    rounds.add(system, figures);
  }

  get verdicts(): Verdict[] {
    const two = onNats(2);
    const bounded = (text: string, ratio: number, atMost: number): Verdict[] =>
      Number.isNaN(ratio) ? [] : [{ text, ratio, atMost, holds: ratio <= atMost }];
    const ns = (load: string, system: string): number =>
      this.fanOuts.get(load)?.median(system, "nsPerDelivery") ?? Number.NaN;
    const connect = (system: string): number => this.idle.median(system, "usPerConnect");
    return [
      ...bounded(`bytes of RSS per idle peer: ${onNats(1)}`, this.idle.median(onNats(1), "nodeBytes"), NODE_BYTES_MAX),
      ...Object.entries(TWO_NODES_AT_MOST).flatMap(([load, atMost]) =>
        bounded(`${load}: ${two} against ${ALONE}`, ns(load, two) / ns(load, ALONE), atMost),
      ),
      ...bounded(`a connect that joins a channel of ten: ${two}`, connect(two) / connect(ALONE), CONNECT_AT_MOST),
      ...bounded(`${JUDGED}: ${ALONE} against ${BEFORE}`, ns(JUDGED, ALONE) / ns(JUDGED, BEFORE), NOT_SLOWER),
    ];
  }

  get holds(): boolean {
    return this.verdicts.every(({ holds }) => holds);
  }

  text(): string {
    return [
      this.fanOutText(),
      this.presenceText(),
      this.idleText(),
      this.postgresText(),
      table(
        ["target", "bound", "is", ""],
        this.verdicts.map(({ text, ratio, atMost, holds }) => [
          text,
          `at most ${atMost}`,
          shown(ratio),
          holds ? "holds" : "MISSED",
        ]),
      ),
    ].join("\n\n");
  }

  data(): object {
    const plain = <Figures extends object>({ all }: Rounds<Figures>): object => Object.fromEntries(all);
    return {
      fanOut: Object.fromEntries([...this.fanOuts].map(([load, rounds]) => [load, plain(rounds)])),
      presence: plain(this.presence),
      idle: plain(this.idle),
      postgres: plain(this.postgres),
      targets: this.verdicts,
    };
  }

  private fanOutText(): string {
    const heads = [
      "fan-out, 128 B, CPU of all nodes and NATS",
      "ns per delivery",
      "against one node",
      "µs per message",
      "first node",
      "others",
      "NATS",
      "messages/s",
      "lowest–highest ns",
    ];
    const rows = [...this.fanOuts].flatMap(([load, rounds]) =>
      this.systems.flatMap((system) => {
        const of = (figure: keyof FanOutFigures): number => rounds.median(system, figure);
        const all = (rounds.all.get(system) ?? []).map(({ nsPerDelivery }) => nsPerDelivery);
        if (all.length === 0) return [];
        return [
          [
            `${load}: ${system}`,
            shown(of("nsPerDelivery")),
            (of("nsPerDelivery") / rounds.median(ALONE, "nsPerDelivery")).toFixed(2),
            ...(["usPerMessage", "firstUs", "othersUs", "natsUs", "messagesPerSecond"] as const).map((one) =>
              shown(of(one)),
            ),
            `${shown(Math.min(...all))}–${shown(Math.max(...all))}`,
          ],
        ];
      }),
    );
    return table(heads, rows);
  }

  private presenceText(): string {
    const heads = [
      "500 peers join one channel",
      "µs per join, at once",
      "frames per peer",
      "seconds",
      "µs per join, in turn",
    ];
    const figures = ["usPerJoinAtOnce", "framesPerPeer", "seconds", "usPerJoinInTurn"] as const;
    const rows = this.systems
      .filter((system) => this.presence.all.has(system))
      .map((system) => [system, ...figures.map((figure) => shown(this.presence.median(system, figure)))]);
    return table(heads, rows);
  }

  private idleText(): string {
    const heads = [
      "10,000 idle peers",
      "RSS per peer, nodes",
      "RSS per peer, NATS",
      "µs per connect",
      "CPU, nodes",
      "CPU, NATS",
    ];
    const rows = this.systems
      .filter((system) => this.idle.all.has(system))
      .map((system) => {
        const of = (figure: keyof IdleFigures): number => this.idle.median(system, figure);
        const share = (figure: keyof IdleFigures): string => `${(of(figure) * 100).toFixed(1)} %`;
        return [
          system,
          shown(of("nodeBytes")),
          shown(of("natsBytes")),
          shown(of("usPerConnect")),
          share("nodeShare"),
          share("natsShare"),
        ];
      });
    return table(heads, rows);
  }

  private postgresText(): string {
    const parts = [...this.postgres.all.keys()].map((system) => {
      const share = this.postgres.median(system, "cpu") / this.postgres.median(system, "seconds");
      return `${system} ${(share * 100).toFixed(1)} % of a core`;
    });
    return `PostgreSQL, which is not counted above: ${parts.join(", ")}`;
  }
}

function shown(value: number): string {
  if (Number.isNaN(value)) return "-";
  return Math.abs(value) < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");
}
