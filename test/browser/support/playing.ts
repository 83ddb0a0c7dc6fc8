/** A long recording that browsers can seek in, and how much of it they load. */
import type { Page } from "playwright-core";
import { until } from "../../support/wait.ts";

type Bytes = readonly number[] | Uint8Array;

/** Bytes are not copied one by one: a long file would take seconds. */
const joined = (parts: readonly Bytes[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part))));

/** An element of a WebM file, with a length of eight bytes. */
function element(id: string, ...content: readonly Bytes[]): Uint8Array {
  const data = joined(content);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(data.length));
  length[0] = 1;
  return joined([Buffer.from(id, "hex"), length, data]);
}

function unsigned(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function float(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

const text = (value: string): Uint8Array => Buffer.from(value, "latin1");

/** 20 ms of silence in Opus, padded to a kilobyte: a file of some size costs no time to make. */
const SILENCE = joined([[0xfb, 0x41, 255, 255, 255, 255, 0, 0xff, 0xfe], new Uint8Array(4 * 254)]);
const PACKET_MS = 20;
const CLUSTER_MS = 1000;

function cluster(fromMs: number): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let ms = 0; ms < CLUSTER_MS; ms += PACKET_MS)
    blocks.push(element("a3", [0x81, ms >> 8, ms & 255, 0x80], SILENCE));
  return element("1f43b675", element("e7", unsigned(fromMs)), ...blocks);
}

/** Silence as a WebM file with a duration and an index, as a mended recording has them: 52 KB per second. */
export function longAudio(seconds: number): Uint8Array {
  const clusters = Array.from({ length: seconds }, (_, at) => cluster(at * CLUSTER_MS));
  const head = joined([text("OpusHead"), [1, 1, 56, 1, 0x80, 0xbb, 0, 0, 0, 0, 0]]);
  const info = element("1549a966", element("2ad7b1", unsigned(1_000_000)), element("4489", float(seconds * 1000)));
  const audio = element("e1", element("b5", float(48_000)), element("9f", unsigned(1)));
  const kind = [element("83", unsigned(2)), element("86", text("A_OPUS")), element("63a2", head), audio];
  const tracks = element("1654ae6b", element("ae", element("d7", unsigned(1)), element("73c5", unsigned(1)), ...kind));
  const cuesAt = (first: number): Uint8Array =>
    element(
      "1c53bb6b",
      ...clusters.map((one, at) =>
        element(
          "bb",
          element("b3", unsigned(at * CLUSTER_MS)),
          element("b7", element("f7", unsigned(1)), element("f1", unsigned(first + at * one.length))),
        ),
      ),
    );
  const before = info.length + tracks.length;
  const cues = cuesAt(before + cuesAt(0).length);
  const ebml = element("1a45dfa3", element("4282", text("webm")), element("4287", [4]), element("4285", [2]));
  return joined([ebml, element("18538067", info, tracks, cues, ...clusters)]);
}

/** What a page has loaded of files of recordings since this was called. */
export async function filesLoaded(page: Page): Promise<{ bytes: number; readonly ranges: string[] }> {
  const seen = { bytes: 0, ranges: [] as string[] };
  const session = await page.context().newCDPSession(page);
  const files = new Set<string>();
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (!new URL(request.url).pathname.endsWith("/file")) return;
    files.add(requestId);
    seen.ranges.push(Object.entries(request.headers).find(([name]) => name.toLowerCase() === "range")?.[1] ?? "all");
  });
  session.on("Network.dataReceived", ({ requestId, dataLength }) => {
    if (files.has(requestId)) seen.bytes += dataLength;
  });
  await session.send("Network.enable");
  return seen;
}

const media = <T>(page: Page, code: string): Promise<T> =>
  page.evaluate<T>(`((media) => ${code})(document.querySelector(".player"))`);

export const hasData = (page: Page): Promise<unknown> =>
  until("the player has data", () => media<boolean>(page, "media !== null && media.readyState >= 2"));

/** Seeks, and resolves when what is there can be played. */
export async function seek(page: Page, seconds: number): Promise<void> {
  await media(page, `{ media.currentTime = ${seconds}; }`);
  await until("the player has sought", () =>
    media<boolean>(page, `!media.seeking && media.readyState >= 2 && media.currentTime >= ${seconds}`),
  );
}

/** Plays on from where it is, for a moment. */
export async function play(page: Page): Promise<void> {
  const from = await media<number>(page, "media.currentTime");
  await media(page, "media.play()");
  await until("it plays", () => media<boolean>(page, `media.currentTime > ${from}`));
}

export const lengthOf = (page: Page): Promise<number> => media<number>(page, "media.duration");
