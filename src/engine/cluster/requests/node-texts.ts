/**
 * Texts between parts of the nodes: what operators look at, and what meetings change (engine.ts, `request` and `notify`). They share one
 * transport with the messages of clients and must not delay them: a request is answered in a turn of its own, and a long response is
 * sent in pieces over several turns.
 */
import type { NodeName, NodeResponses } from "../../engine.ts";
import type { NodeCallbacks } from "../nodes/callbacks.ts";
import type { FailureBoundary } from "../nodes/failure-boundary.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { notification, responsePart } from "../wire/encode.ts";
import {
  NOTIFICATION_MAX_BYTES,
  PIECE_CHARS,
  REQUEST_TEXT_MAX_CHARS,
  RESPONSE_TEXT_MAX_CHARS,
} from "../wire/payload.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import type { Requests } from "./requests.ts";

/** Pieces that are sent in one turn: encoding them takes less than a millisecond. */
const PIECES_AT_ONCE = 16;
const PAUSE_MS = 2;
/** Requests that are being answered. Further ones wait. */
export const ANSWERING_MAX = 100;
/** Those that wait, each counted with some characters more for itself. Further ones get no response. */
export const WAITING_MAX_CHARS = 4 * 1024 * 1024;
const WAITING_EACH_CHARS = 256;

interface WaitingRequest {
  readonly text: string;
  readonly send: (text: string) => void;
}

interface NodeTextsParts {
  readonly local: Pick<NodeCallbacks, "id" | "respond">;
  readonly wire: Pick<Wire, "publish">;
  readonly subjects: Subjects;
  readonly nodes: Pick<Nodes, "all" | "known">;
  readonly requests: Pick<Requests, "collect">;
  readonly boundary: FailureBoundary;
  readonly later: (run: () => void, ms: number) => void;
  readonly warn: (text: string) => void;
}

export class NodeTexts {
  private answering = 0;
  /** Bound: WAITING_MAX_CHARS. */
  private readonly waiting: WaitingRequest[] = [];
  private waitingChars = 0;

  constructor(private readonly parts: NodeTextsParts) {}

  async request(text: string, isNew = false): Promise<NodeResponses> {
    const { requests, nodes, warn } = this.parts;
    if (text.length > REQUEST_TEXT_MAX_CHARS) {
      warn(`a request of ${text.length} characters is too long for other nodes and was not sent`);
      return { responses: new Map<NodeName, string>(), isComplete: nodes.all.length === 0 };
    }
    const { responses, isComplete } = await requests.collect({ kind: "text", text }, isNew);
    return {
      responses: new Map(responses.map(([node, one]) => [node.name, one.kind === "text" ? one.text : ""])),
      isComplete,
    };
  }

  notify(name: NodeName, text: string): void {
    const { local, wire, subjects, nodes, warn } = this.parts;
    if (!nodes.known(name)) return;
    if (Buffer.byteLength(text) <= NOTIFICATION_MAX_BYTES)
      return wire.publish(subjects.node(name), notification(local.id, text));
    warn(`a notification of ${text.length} characters is too long for another node and was dropped`);
  }

  /** A request of another node. An error means that there is no response. */
  answer(text: string, send: (text: string) => void): void {
    if (this.answering < ANSWERING_MAX) return this.begin({ text, send });
    const chars = text.length + WAITING_EACH_CHARS;
    if (this.waitingChars + chars > WAITING_MAX_CHARS) return;
    this.waitingChars += chars;
    this.waiting.push({ text, send });
  }

  private begin({ text, send }: WaitingRequest): void {
    const { local, boundary, later } = this.parts;
    this.answering++;
    const respond = async (): Promise<void> => {
      try {
        this.send(await local.respond(text), send);
      } catch (error) {
        boundary.report(error, { in: "respond" });
      } finally {
        this.answering--;
        this.beginNext();
      }
    };
    later(() => void respond(), 0);
  }

  private beginNext(): void {
    const next = this.waiting.shift();
    if (!next) return;
    this.waitingChars -= next.text.length + WAITING_EACH_CHARS;
    this.begin(next);
  }

  private send(text: string, send: (text: string) => void): void {
    const { local, later, warn } = this.parts;
    if (text.length > RESPONSE_TEXT_MAX_CHARS)
      return warn(`a response of ${text.length} characters is too long for another node and was not sent`);
    const parts = Math.max(1, Math.ceil(text.length / PIECE_CHARS));
    const sendFrom = (first: number): void => {
      const end = Math.min(parts, first + PIECES_AT_ONCE);
      for (let part = first; part < end; part++) {
        const piece = text.slice(part * PIECE_CHARS, (part + 1) * PIECE_CHARS);
        send(responsePart({ node: local.id, part, parts, response: { kind: "text", text: piece } }));
      }
      if (end < parts) later(() => sendFrom(end), PAUSE_MS);
    };
    sendFrom(0);
  }
}
