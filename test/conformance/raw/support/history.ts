/** Channels that keep history, for tests on the wire. */
import type { AnyFrame, Frame } from "../../../support/wire/shapes.ts";
import type { Wire } from "../../../support/wire/wire.ts";
import { fresh, type World } from "./world.ts";

/** The application of this world keeps the messages of the channels that `kept` names. */
export async function keepHistory({ admin, app }: World): Promise<void> {
  const channelRules = [{ pattern: "kept/**", history: { messages: 2000, seconds: 600 } }];
  await admin.must("PATCH", `/apps/${app._id}`, { channelRules });
}

/** A channel that no other test uses. */
export const kept = (): string => `kept/${fresh("room")}`;

export const POSITION = /^[a-z0-9]{1,16}\.\d+\.[a-z0-9]{1,16}$/;

export const offsetOf = (position: string | undefined): number => Number(position?.split(".")[1]);

export const dataOf = (frames: readonly AnyFrame[]): unknown[] =>
  frames.flatMap((frame) => (frame.type === "message" ? [frame.data] : []));

export async function acked(wire: Wire, frame: object): Promise<Frame<"ack">> {
  const answer = await wire.request(frame);
  if (answer.type !== "ack") throw new Error(JSON.stringify(answer));
  return answer;
}

/** Publishes these over REST, and returns their positions. */
export async function published(world: World, channel: string, ...data: unknown[]): Promise<string[]> {
  const positions: string[] = [];
  for (const one of data) positions.push(String((await world.restPublish(channel, { data: one })).body.pos));
  return positions;
}

/** The answer to a `history` frame. */
export async function history(wire: Wire, frame: object): Promise<AnyFrame> {
  const requestId = fresh("h");
  wire.send({ type: "history", ...frame, requestId });
  return wire.answerTo(requestId);
}
