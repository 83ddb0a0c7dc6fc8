/**
 * Whether people share something in a room. A node shows the people of other nodes as presence knows them: without those of a node that is cut off. They
 * are inside all the same, and their media goes from page to page, so before a meeting ends without activity the other nodes are asked.
 */
import { type AppId, asAppId } from "../../base/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { Floor } from "../contract/floor.ts";

interface ActivityParts {
  readonly store: Pick<MeetingStore, "openStays">;
  readonly floor: Pick<Floor, "members" | "ask" | "on">;
  readonly nodeId: string;
}

/** Asked of all nodes: whether someone in this room shares something, as far as they know. */
const SHARES = "meetings.shares";

export class Activity {
  constructor(private readonly parts: ActivityParts) {
    const { floor, nodeId } = parts;
    floor.on(SHARES, (payload) => {
      const { app, room } = isObject(payload) ? payload : {};
      const members = typeof app === "string" && typeof room === "string" ? floor.members(asAppId(app), room) : [];
      return { node: nodeId, shares: members.some(({ state }) => shares(state)) };
    });
  }

  /**
   * As all nodes know it. Someone whose node does not answer may share something. A stay without a connection shares nothing, and those of a node that was
   * killed have soon ended.
   */
  async mayBeShared(app: AppId, room: string): Promise<boolean> {
    const { floor, store } = this.parts;
    const answers = (await floor.ask(SHARES, { app, room })).filter(isObject);
    if (answers.some((answer) => answer.shares === true)) return true;
    const nodes = new Set(answers.map(({ node }) => node));
    return (await store.openStays(app, room)).some(({ node }) => node !== null && !nodes.has(node));
  }
}

/** As the pages say. */
export const shares = (state: unknown): boolean =>
  isObject(state) && (state.audio === true || state.video === true || state.screen === true);
