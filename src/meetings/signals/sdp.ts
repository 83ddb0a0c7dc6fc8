/** What a session description offers to send. The service reads no more of it than that. */

export interface Sending {
  readonly audio: number;
  readonly video: number;
  /** Media of another kind than audio, video and data channels. */
  readonly other: number;
}

const EQUALS = 61;
const LETTER_A = 97;
const LETTER_M = 109;
const LETTER_Z = 122;

interface Section {
  readonly kind: string;
  readonly port: string;
  isBundleOnly: boolean;
  /** Whether it sends, as far as it says so; `undefined`: it has no direction. */
  sends: boolean | undefined;
}

/** A page has three sections per participant at most; each costs a comparison. */
const SECTIONS_MAX = 100;
/** Four sections of a browser that knows every codec have about 900 lines. Very short lines cost much more to read than their bytes tell. */
export const SDP_LINES_MAX = 2000;
/** Lines of browsers have at most a few hundred characters. */
export const SDP_LINE_MAX_CHARS = 4096;

/** Browsers end lines with CR LF; LF alone is allowed. Other control characters end a line in some parsers and not in others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const AMBIGUOUS = /\r(?!\n)|[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Both are tried at the beginning of a line (`y`) and read no further than its end, so that lines are not copied. Letters count in either case; spaces
 * around an attribute are left out, also those of Unicode. `a=sendrecv:x` and `a=sendrecv x` send for Chromium, `a=inactive:x` is not known to every browser.
 */
const MEDIA = /m=([a-z]+) (\d+)(\/\d+)? /y;
const ATTRIBUTE = /a=[^\S\r\n]*(?:(send(?:recv|only))|(bundle-only)|(?:recvonly|inactive)(?=[^\S\r\n]*(?:\r?\n|$)))/iy;

/**
 * Counts the media sections that send; `undefined` if the description is not written as browsers write it. Parsers of browsers differ in what they
 * forgive, and a client that wants to send more than it may writes what only they take for sending. So lines that could be read in two
 * ways are refused, and an attribute that only begins like one that sends counts as that one.
 */
export function sendingOf(sdp: string): Sending | undefined {
  const session: Section = { kind: "", port: "", isBundleOnly: false, sends: undefined };
  const sections: Section[] = [];
  let lines = 0;
  for (let start = 0; start < sdp.length; ) {
    const lineFeed = sdp.indexOf("\n", start);
    const end = lineFeed < 0 ? sdp.length : lineFeed;
    if (++lines > SDP_LINES_MAX || end - start > SDP_LINE_MAX_CHARS) return undefined;
    if (!readLine(sdp, start, end, session, sections)) return undefined;
    start = end + 1;
  }
  if (AMBIGUOUS.test(sdp)) return undefined;
  const sending = sections.filter((section) => sends(section, session));
  const count = (isCounted: (kind: string) => boolean): number => sending.filter(({ kind }) => isCounted(kind)).length;
  return {
    audio: count((kind) => kind === "audio"),
    video: count((kind) => kind === "video"),
    other: count((kind) => kind !== "audio" && kind !== "video" && kind !== "application"),
  };
}

/** The line from `start` to its line feed, or to the end of the text. false: it is none of an SDP, or one section too many. */
function readLine(sdp: string, start: number, end: number, session: Section, sections: Section[]): boolean {
  if (start === end || (end - start === 1 && sdp[start] === "\r")) return true;
  const type = sdp.charCodeAt(start);
  if (type < LETTER_A || type > LETTER_Z || sdp.charCodeAt(start + 1) !== EQUALS) return false;
  if (type === LETTER_A) readAttribute(sdp, start, sections.at(-1) ?? session);
  else if (type === LETTER_M) {
    MEDIA.lastIndex = start;
    const [, kind, port] = MEDIA.exec(sdp) ?? [];
    if (kind === undefined || port === undefined || sections.length === SECTIONS_MAX) return false;
    sections.push({ kind, port, isBundleOnly: false, sends: undefined });
  }
  return true;
}

function readAttribute(sdp: string, start: number, section: Section): void {
  ATTRIBUTE.lastIndex = start;
  const found = ATTRIBUTE.exec(sdp);
  if (!found) return;
  const [, doesSend, isBundleOnly] = found;
  if (doesSend !== undefined) section.sends = true;
  else if (isBundleOnly !== undefined) section.isBundleOnly = true;
  else section.sends ??= false;
}

/** Port 0 refuses a section, unless it is sent over the transport of another one. Without a direction, the session's is meant, or both. */
function sends({ port, isBundleOnly, sends }: Section, session: Section): boolean {
  if (/^0+$/.test(port) && !isBundleOnly) return false;
  return sends ?? session.sends ?? true;
}
