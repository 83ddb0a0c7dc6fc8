/**
 * Whole connections: several sockets send nearly valid text and bytes, and reconnect when they are closed. The server must
 * neither end, nor keep a healthy peer waiting, nor grow.
 */
import { readFileSync } from "node:fs";
import { handshake, RawConnection } from "../attack/support/connection.ts";
import { startWorld, tokenQuery, type World } from "../conformance/raw/support/world.ts";
import { Chance } from "../support/random.ts";
import { until } from "../support/wait.ts";
import { bits, OPCODE } from "../support/wire/frames.ts";
import { anyText } from "./frames.ts";

export interface ConnectionFigures {
  readonly frames: number;
  readonly connects: number;
  readonly pings: number;
  readonly slowestPingMs: number;
  /** Memory after an eighth of the work, the maximum after that, and at the end. */
  readonly rssMib: { readonly warm: number; readonly most: number; readonly end: number };
  readonly seconds: number;
}

const SOCKETS = 8;
const BATCH = 50;
const PING_MAX_MS = 20_000;
/** Below the rate of pings, which cannot be turned off. */
const PING_EVERY_MS = 120;
/** Longer than any response takes; a socket that waits this long is replaced. */
const MARK_MAX_MS = 500;
const RSS_GROWTH_MAX_MIB = 64;
const RSS_SETTLES_WITHIN_MS = 30_000;
const OPEN_ENV = { PARLEY_FRAMES_PER_SECOND: "0" };

export async function fuzzConnections(frames: number, seed: number): Promise<ConnectionFigures> {
  const world = await startWorld({ env: OPEN_ENV });
  try {
    return await new Run(world, frames, seed).go();
  } finally {
    await world.stop();
  }
}

class Run {
  private sent = 0;
  private connects = 0;
  private pings = 0;
  private slowestPingMs = 0;
  private warm = 0;
  private most = 0;
  private readonly started = performance.now();

  constructor(
    private readonly world: World,
    private readonly frames: number,
    private readonly seed: number,
  ) {}

  async go(): Promise<ConnectionFigures> {
    const attackers = Array.from({ length: SOCKETS }, (_, at) => this.attack(at));
    let going = true;
    const done = Promise.all(attackers).finally(() => {
      going = false;
    });
    await Promise.all([done, this.healthy(() => going)]);
    const end = await this.settled();
    const complaints = this.world.server.log.filter(({ level }) => level === "error" || level === "fatal");
    if (complaints.length > 0) throw new Error(`the server complained: ${JSON.stringify(complaints[0])}`);
    return {
      frames: this.sent,
      connects: this.connects,
      pings: this.pings,
      slowestPingMs: Math.round(this.slowestPingMs),
      rssMib: { warm: this.warm, most: this.most, end },
      seconds: (performance.now() - this.started) / 1000,
    };
  }

  private get rssMib(): number {
    return Number(readFileSync(`/proc/${this.world.server.pid}/statm`, "utf8").split(" ")[1]) / 256;
  }

  /** One of the sockets. Each has its own random sequence, so that its frames do not depend on the speed of the others. */
  private async attack(at: number): Promise<void> {
    const chance = new Chance(this.seed * SOCKETS + at);
    let left = Math.ceil(this.frames / SOCKETS);
    while (left > 0) {
      const connection = await this.connect(`fuzz-${at % 5}`);
      try {
        // Every connection ends at some point, so that presence changes too.
        const until = left - Math.min(left, 1000 + chance.below(4000));
        while (left > until && !connection.isOver) {
          const count = Math.min(BATCH, left);
          left -= count;
          this.sent += count;
          connection.write(batch(chance, count));
          await this.answered(connection);
        }
      } finally {
        connection.drop();
      }
    }
  }

  private async connect(sub: string): Promise<RawConnection> {
    const connection = await RawConnection.open(this.world.url);
    connection.write(handshake(tokenQuery(this.world.token({ sub }))));
    await connection.hears((received) => received.includes('"welcome"'), PING_MAX_MS);
    this.connects++;
    connection.received = "";
    return connection;
  }

  /** Returns when a marker ping is answered, the connection is over, or the marker is inside an unfinished message of ours. */
  private async answered(connection: RawConnection): Promise<void> {
    connection.received = "";
    connection.write(bits({ opcode: OPCODE.ping, payload: "mark" }));
    await connection
      .hears((received) => received.includes("\x8a\x04mark"), MARK_MAX_MS)
      .catch(() => {
        // Our last frame may have announced more bytes than it had, and swallowed the marker: only the healthy peer shows which it is.
        connection.drop();
      });
    connection.received = "";
  }

  /** Its pings must be answered all the time. */
  private async healthy(going: () => boolean): Promise<void> {
    const connection = await this.connect("healthy");
    while (going()) {
      const started = performance.now();
      connection.received = "";
      connection.write(bits({ opcode: OPCODE.text, payload: '{"type":"ping","requestId":"healthy"}' }));
      await connection.hears((received) => received.includes('"healthy"'), PING_MAX_MS);
      if (connection.isOver) throw new Error("the healthy peer was cut off");
      this.slowestPingMs = Math.max(this.slowestPingMs, performance.now() - started);
      this.pings++;
      this.weigh();
      await Bun.sleep(PING_EVERY_MS);
    }
    connection.drop();
  }

  private weigh(): void {
    const now = this.rssMib;
    if (this.sent < this.frames / 8 || this.warm === 0) this.warm = now;
    else this.most = Math.max(this.most, now);
  }

  private async settled(): Promise<number> {
    const what = `memory went from ${this.warm} to ${this.rssMib} MiB`;
    await until(what, () => this.rssMib <= this.warm + RSS_GROWTH_MAX_MIB, RSS_SETTLES_WITHIN_MS);
    return this.rssMib;
  }
}

/** Mostly complete text frames, so that connections live; sometimes an invalid header. */
function batch(chance: Chance, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => anyFrame(chance)));
}

function anyFrame(chance: Chance): Buffer {
  if (!chance.once(400)) return whole(chance);
  switch (chance.below(6)) {
    case 0:
      return chance.bytes(1 + chance.below(40));
    case 1:
      return bits({ opcode: chance.below(16), reserved: chance.below(8), payload: anyText(chance) });
    case 2:
      return bits({ opcode: OPCODE.text, payload: chance.bytes(chance.below(40)) });
    case 3:
      return bits({ opcode: OPCODE.text, payload: anyText(chance), masked: false });
    case 4:
      return bits({ opcode: OPCODE.text, length: BigInt(chance.bits()) << BigInt(chance.below(33)), payload: "x" });
    default:
      return bits({ opcode: OPCODE.close, payload: chance.bytes(chance.below(8)) });
  }
}

function whole(chance: Chance): Buffer {
  const payload = Buffer.from(anyText(chance));
  switch (chance.below(12)) {
    case 0: {
      const cut = chance.below(payload.length + 1);
      return Buffer.concat([
        bits({ opcode: OPCODE.text, payload: payload.subarray(0, cut), final: false }),
        ...(chance.once(2) ? [bits({ opcode: OPCODE.ping, payload: chance.bytes(chance.below(126)) })] : []),
        bits({ opcode: OPCODE.continuation, payload: payload.subarray(cut) }),
      ]);
    }
    case 1:
      return bits({ opcode: OPCODE.binary, payload });
    case 2:
      return bits({ opcode: chance.pick([OPCODE.ping, OPCODE.pong]), payload: chance.bytes(chance.below(126)) });
    case 3:
      return bits({ opcode: OPCODE.text, payload, form: "long" });
    default:
      return bits({ opcode: OPCODE.text, payload });
  }
}
