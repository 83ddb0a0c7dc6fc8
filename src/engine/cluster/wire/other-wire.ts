/**
 * What can be read of messages of any version. In all of them, heartbeats and farewells are one line of JSON, `[version,"beat"|"farewell",node,…]`,
 * on the subject of all nodes, and a heartbeat has an object with `name` and `version` somewhere behind that. A later version MUST keep to this,
 * so that the log can say which node it is.
 */
import { isNode, isText, parseJson } from "./decode-entries.ts";
import { VERSION } from "./messages.ts";
import { TEXT_MAX_BYTES } from "./payload.ts";

export interface OtherWire {
  /** The version of the messages. */
  readonly wire: number;
  /** The name that the node has for itself; undefined: the text is neither a heartbeat nor a farewell. */
  readonly node: string | undefined;
  readonly hasLeft: boolean;
  /** PARLEY_NODE_ID. */
  readonly name?: string | undefined;
  /** Of Parley. */
  readonly version?: string | undefined;
}

const WIRE_MAX = 1000;
/** They are shown to people, and come from a server that others may reach. */
const SHOWN = /^[\w.:+-]{1,64}$/;
const shown = (value: unknown): string | undefined => (isText(value) && SHOWN.test(value) ? value : undefined);

/** undefined: it is of this wire, or of none. */
export function otherWire(text: string): OtherWire | undefined {
  if (text.length > TEXT_MAX_BYTES) return undefined;
  const end = text.indexOf("\n");
  const head = parseJson(end < 0 ? text : text.slice(0, end));
  if (!Array.isArray(head)) return undefined;
  const [wire, kind, node, ...fields] = head as unknown[];
  if (!Number.isSafeInteger(wire) || wire === VERSION || Number(wire) < 1 || Number(wire) > WIRE_MAX) return undefined;
  const isPresence = (kind === "beat" || kind === "farewell") && isNode(node);
  const about = fields.findLast((one) => typeof one === "object" && one !== null && "version" in one);
  const { name, version } = (about ?? {}) as { name?: unknown; version?: unknown };
  return {
    wire: Number(wire),
    node: isPresence ? node : undefined,
    hasLeft: kind === "farewell",
    name: shown(name),
    version: shown(version),
  };
}
