/**
 * The channels that this node listens to. A watch begins with a question to all nodes, asked behind its subscription and on the
 * same connection: whoever answers is heard from then on. Later, whenever a node may have been missed or misheard, it is asked
 * again where its lanes stand.
 */
import type { NodeEnd, RemoteMembers } from "../engine.ts";
import type { Link, Topic } from "../transport/nats.ts";
import { laneItem } from "./decode.ts";
import type { Answer, LaneItem, LaneState, Place } from "./encode.ts";
import { Ears } from "./incoming-streams.ts";
import type { Nodes, OtherNode } from "./nodes.ts";
import { chunksOf, jsonBytes } from "./payload.ts";
import { lanesOf } from "./pending-requests.ts";
import type { Asks } from "./requests.ts";
import type { Subjects } from "./subjects.ts";

const REPAIR_TRIES = 3;

export interface WatchesParts {
  readonly end: NodeEnd;
  readonly link: Link;
  readonly subjects: Subjects;
  readonly nodes: Nodes;
  readonly asks: Asks;
  readonly warn: (text: string) => void;
}

interface Watch {
  readonly app: string;
  readonly channel: string;
  readonly topic: Topic;
  readonly ears: Ears;
  /** The first answers are still out. */
  isOpening: boolean;
}

const key = (app: string, channel: string): string => `${app} ${channel}`;

export class Watches {
  private readonly watches = new Map<string, Watch>();

  constructor(private readonly parts: WatchesParts) {}

  open(app: string, channel: string, found: (members: RemoteMembers) => void): void {
    const { asks, nodes } = this.parts;
    const watch = this.listen(app, channel);
    this.watches.set(key(app, channel), watch);
    asks.all({ what: "who", channels: [[app, channel]] }, (answers) => {
      if (!this.isCurrent(watch)) return found(new Map());
      const states = [...answers].flatMap(([name, answer]) => {
        const node = nodes.known(name);
        const [lane] = lanesOf(answer);
        return node && lane ? [{ node, lane }] : [];
      });
      found(new Map(states.map(({ node, lane }) => [node.id, lane.members])));
      watch.isOpening = false;
      // What has come meanwhile, and is behind what was answered.
      for (const { node, lane } of states) watch.ears.begin(node.name, lane);
      // Those that have not answered in time, or came while the question was out.
      for (const { name } of nodes.all) if (!answers.has(name)) this.askWho(name, [watch]);
    });
  }

  close(app: string, channel: string): void {
    this.watches.get(key(app, channel))?.topic.end();
    this.watches.delete(key(app, channel));
  }

  /** Where all lanes of one node stand that we listen to. */
  resync({ name }: OtherNode): void {
    const watches = [...this.watches.values()].filter(({ isOpening }) => !isOpening);
    if (watches.length === 0) return;
    for (const some of chunksOf(watches, ({ app, channel }) => jsonBytes([app, channel]))) this.askWho(name, some);
  }

  gone({ name }: OtherNode): void {
    for (const { ears } of this.watches.values()) ears.forget(name);
  }

  private listen(app: string, channel: string): Watch {
    const { link, subjects, nodes, warn } = this.parts;
    const ears = new Ears({
      heard: (name, item) => this.heard(name, item),
      missing: (place, to) => this.repair(watch, place, to),
      unsure: (name) => this.askWho(name, [watch]),
    });
    const topic = link.subscribe(subjects.lane(app, channel), ({ text }) => {
      const item = laneItem(text);
      // The subject says whose it is: a body that says otherwise is nobody's.
      if (!item || item.place.app !== app || item.place.channel !== channel)
        return warn("something that no node of ours sends has arrived on a channel's lane");
      if (this.isCurrent(watch) && nodes.seen(item.place.node)) ears.item(item);
    });
    const watch: Watch = { app, channel, topic, ears, isOpening: true };
    return watch;
  }

  private isCurrent(watch: Watch): boolean {
    return this.watches.get(key(watch.app, watch.channel)) === watch;
  }

  private heard(name: string, item: LaneItem): void {
    const { end, nodes } = this.parts;
    const node = nodes.known(name);
    if (!node) return;
    const { app, channel } = item.place;
    if (item.kind === "message") end.deliver(app, channel, item.envelope);
    else if (item.kind === "members") end.membersChanged(node.id, app, channel, item.change.joined, item.change.left);
  }

  private askWho(name: string, watches: readonly Watch[]): void {
    const { asks, nodes, link } = this.parts;
    const channels = watches.map(({ app, channel }) => [app, channel] as const);
    asks.one(name, { what: "who", channels }, (answer: Answer | undefined) => {
      const node = nodes.known(name);
      const current = watches.filter((watch) => this.isCurrent(watch));
      if (!node || current.length === 0) return;
      for (const lane of lanesOf(answer)) this.stands(node, lane);
      // Not answered though it is there: while we are connected it is asked until it does.
      if (!answer && link.isUp) this.askWho(name, current);
    });
  }

  private stands(node: OtherNode, lane: LaneState): void {
    const { app, channel, members } = lane;
    const watch = this.watches.get(key(app, channel));
    if (!watch || watch.isOpening) return;
    watch.ears.state(node.name, lane, () => this.parts.end.membersAre(node.id, app, channel, members));
  }

  private repair(watch: Watch, place: Place, to: number, tries = REPAIR_TRIES): void {
    const { asks, nodes } = this.parts;
    asks.one(place.node, { what: "again", place, to }, (answer) => {
      if (!this.isCurrent(watch) || !nodes.known(place.node)) return;
      if (!answer && tries > 1) return this.repair(watch, place, to, tries - 1);
      const items = answer?.what === "again" ? itemsOf(answer.items, place) : undefined;
      if (items) return watch.ears.again(items);
      if (answer) return this.confirm(watch, place, to);
      this.lose(watch, place.node);
    });
  }

  /** The node does not have these items any more, or never had them: before anybody is told of a loss, it says how far its lane is. */
  private confirm(watch: Watch, place: Place, to: number): void {
    const { asks, nodes, end } = this.parts;
    const { app, channel } = watch;
    asks.one(place.node, { what: "who", channels: [[app, channel]] }, (answer) => {
      const node = nodes.known(place.node);
      if (!this.isCurrent(watch) || !node) return;
      const [lane] = lanesOf(answer);
      // Epoch 0: it has forgotten the lane, and cannot say.
      const isRefuted =
        lane && lane.epoch > 0 && (lane.epoch < place.epoch || (lane.epoch === place.epoch && lane.n < to));
      if (!isRefuted) return this.lose(watch, place.node);
      watch.ears.refuted(node.name, lane, () => end.membersAre(node.id, app, channel, lane.members));
    });
  }

  private lose(watch: Watch, name: string): void {
    const { end, warn } = this.parts;
    warn("messages between nodes were lost and cannot be had again: whoever listens to their channel reconnects");
    end.lost(watch.app, watch.channel);
    if (this.isCurrent(watch)) watch.ears.givenUp(name);
  }
}

/** As they were sent, all of the same lane; undefined: not to be had, or not what was asked for. */
function itemsOf(texts: readonly string[] | undefined, { node, app, channel }: Place): LaneItem[] | undefined {
  const items = texts?.map(laneItem);
  const isRight = (item: LaneItem | undefined): item is LaneItem =>
    item?.place.node === node && item.place.app === app && item.place.channel === channel;
  return items?.every(isRight) ? items.filter(isRight) : undefined;
}
