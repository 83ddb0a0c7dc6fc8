/** What a session description offers to send. The service reads no more of it than that. */

export interface Sending {
  readonly audio: number;
  readonly video: number;
  /** Media of another kind than audio, video and data channels. */
  readonly other: number;
}

interface Section {
  readonly kind: string;
  readonly port: string;
  isBundleOnly: boolean;
  directions: string[];
}

const DIRECTIONS: readonly string[] = ["sendrecv", "sendonly", "recvonly", "inactive"];

/**
 * Counts the media sections that send. Where a description can be read in two ways, the one that sends counts: browsers differ, and a client that
 * wants to send more than it may writes what only one of them takes for sending.
 */
export function sendingOf(sdp: string): Sending {
  const session: Section = { kind: "", port: "", isBundleOnly: false, directions: [] };
  const sections: Section[] = [];
  for (const raw of sdp.split(/[\r\n]+/)) {
    const line = raw.trim().toLowerCase();
    if (line.startsWith("m=")) {
      const [kind = "", port = ""] = line.slice(2).trim().split(/\s+/);
      sections.push({ kind, port, isBundleOnly: false, directions: [] });
    } else if (line.startsWith("a=")) readAttribute(line.slice(2).trim(), sections.at(-1) ?? session);
  }
  const sending = sections.filter((section) => sends(section, session));
  const count = (isCounted: (kind: string) => boolean): number => sending.filter(({ kind }) => isCounted(kind)).length;
  return {
    audio: count((kind) => kind === "audio"),
    video: count((kind) => kind === "video"),
    other: count((kind) => kind !== "audio" && kind !== "video" && kind !== "application"),
  };
}

function readAttribute(attribute: string, section: Section): void {
  if (attribute === "bundle-only") section.isBundleOnly = true;
  else if (DIRECTIONS.includes(attribute)) section.directions.push(attribute);
}

/** Port 0 refuses a section, unless it is sent over the transport of another one. Without a direction, the session's is meant, or both. */
function sends({ port, isBundleOnly, directions }: Section, session: Section): boolean {
  if (/^0+(\/.*)?$/.test(port) && !isBundleOnly) return false;
  const said = directions.length > 0 ? directions : session.directions;
  return said.length === 0 || said.includes("sendrecv") || said.includes("sendonly");
}
