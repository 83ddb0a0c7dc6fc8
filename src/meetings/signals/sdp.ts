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
  /** Whether it sends, as far as it says so; `undefined`: it has no direction. */
  sends: boolean | undefined;
}

/** A page has three sections per participant at most; each costs a comparison. */
const SECTIONS_MAX = 100;

const SENDS = /^(sendrecv|sendonly)/;
const RECEIVES: readonly string[] = ["recvonly", "inactive"];
/** Browsers end lines with CR LF; LF alone is allowed. Other control characters end a line in some parsers and not in others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const AMBIGUOUS = /\r(?!\n)|[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/;
const LINE = /^[a-z]=/;
const MEDIA = /^m=([a-z]+) (\d+)(\/\d+)? /;

/**
 * Counts the media sections that send; `undefined` if the description is not written as browsers write it. Parsers of browsers differ in what they
 * forgive, and a client that wants to send more than it may writes what only they take for sending. So lines that could be read in two
 * ways are refused, and an attribute that only begins like one that sends counts as that one.
 */
export function sendingOf(sdp: string): Sending | undefined {
  if (AMBIGUOUS.test(sdp)) return undefined;
  const session: Section = { kind: "", port: "", isBundleOnly: false, sends: undefined };
  const sections: Section[] = [];
  for (const line of sdp.split(/\r?\n/)) {
    if (line === "") continue;
    if (!LINE.test(line)) return undefined;
    if (line.startsWith("m=")) {
      const [, kind, port] = MEDIA.exec(line) ?? [];
      if (kind === undefined || port === undefined || sections.length === SECTIONS_MAX) return undefined;
      sections.push({ kind, port, isBundleOnly: false, sends: undefined });
    } else if (line.startsWith("a=")) readAttribute(line.slice(2).trim().toLowerCase(), sections.at(-1) ?? session);
  }
  const sending = sections.filter((section) => sends(section, session));
  const count = (isCounted: (kind: string) => boolean): number => sending.filter(({ kind }) => isCounted(kind)).length;
  return {
    audio: count((kind) => kind === "audio"),
    video: count((kind) => kind === "video"),
    other: count((kind) => kind !== "audio" && kind !== "video" && kind !== "application"),
  };
}

/** `a=sendrecv:x` and `a=sendrecv x` send for Chromium, `a=inactive:x` is not known to every browser. */
function readAttribute(attribute: string, section: Section): void {
  if (SENDS.test(attribute)) section.sends = true;
  else if (RECEIVES.includes(attribute)) section.sends ??= false;
  else if (attribute.startsWith("bundle-only")) section.isBundleOnly = true;
}

/** Port 0 refuses a section, unless it is sent over the transport of another one. Without a direction, the session's is meant, or both. */
function sends({ port, isBundleOnly, sends }: Section, session: Section): boolean {
  if (/^0+$/.test(port) && !isBundleOnly) return false;
  return sends ?? session.sends ?? true;
}
