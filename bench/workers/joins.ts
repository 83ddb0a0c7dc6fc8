/** People enter rooms of one process and of several workers, round by round in turns: CPU of all processes on one core. */
import { type RoomNode, startNode } from "../rooms/node.ts";
import { measureRound, warmUp } from "../rooms/rounds.ts";
import type { Note } from "./loads.ts";
import type { System } from "./systems.ts";

export interface JoinEffort {
  readonly rooms: number;
  readonly rounds: number;
  /** Per process. */
  readonly warmUps: number;
}

/** What entering is, step by step, in the names of bench/rooms. */
const ENTERING = ["join", "connect", "subscribe"];

export async function compareJoins(systems: readonly System[], effort: JoinEffort, note: Note): Promise<void> {
  await using running = new AsyncDisposableStack();
  const nodes: { name: string; node: RoomNode; us: number[] }[] = [];
  for (const { name, workers, main } of systems) {
    const node = running.use(await startNode({ main, workers }));
    await warmUp(node, effort.rooms, effort.warmUps * workers);
    nodes.push({ name, node, us: [] });
  }
  for (let round = 0; round < effort.rounds; round++) {
    nodes.reverse();
    for (const { node, us } of nodes) {
      const { steps } = await measureRound(node, effort.rooms, round);
      us.push(ENTERING.reduce((sum, step) => sum + (steps[step] ?? Number.NaN), 0));
    }
  }
  for (const { name, us } of nodes)
    note(name, "join", { usPerParticipant: us.reduce((sum, one) => sum + one, 0) / us.length });
}
