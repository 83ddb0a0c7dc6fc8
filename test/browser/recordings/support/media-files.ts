/** What ffprobe and ffmpeg say about a file, or about what is behind an address. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../../../support/temp.ts";

const HINT = "ffmpeg is needed to look at recordings: apt-get install -y ffmpeg";

export interface MediaFile {
  /** As its header says; undefined: it says none. */
  readonly durationSec: number | undefined;
  /** One per stream, in order. */
  readonly codecs: readonly string[];
  /** When its last frame ends. */
  readonly endSec: number;
  /** When its last picture is shown. */
  readonly lastPictureSec: number;
  /** Where in the file the last picture is that needs no other one. */
  readonly lastKeyAt: number;
  readonly packets: number;
  /** What is wrong with it. */
  readonly complaints: string;
}

interface Report {
  readonly format?: { readonly duration?: string };
  readonly streams?: readonly { readonly codec_name?: string }[];
  readonly packets?: readonly {
    readonly codec_type?: string;
    readonly pts_time?: string;
    readonly duration_time?: string;
    readonly flags?: string;
    readonly pos?: string;
  }[];
}

async function output(command: readonly string[]): Promise<{ text: string; errors: string; code: number }> {
  const program = Bun.which(command[0] ?? "");
  if (!program) throw new Error(HINT);
  const child = Bun.spawn([program, ...command.slice(1)], { stdio: ["ignore", "pipe", "pipe"] });
  const [text, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { text, errors, code };
}

/** Reads all of its packets. */
export async function look(where: string): Promise<MediaFile> {
  const entries = "format=duration:stream=codec_name:packet=codec_type,pts_time,duration_time,flags,pos";
  const command = ["ffprobe", "-v", "error", "-show_entries", entries, "-of", "json", where];
  const { text, errors } = await output(command);
  const { format, streams = [], packets = [] } = JSON.parse(text || "{}") as Report;
  const ends = packets.map(({ pts_time = "0", duration_time = "0" }) => Number(pts_time) + Number(duration_time));
  const pictures = packets.filter(({ codec_type }) => codec_type === "video");
  const keys = pictures.filter(({ flags = "" }) => flags.startsWith("K"));
  const duration = Number(format?.duration);
  return {
    durationSec: Number.isFinite(duration) ? duration : undefined,
    codecs: streams.map(({ codec_name = "" }) => codec_name),
    endSec: Math.max(0, ...ends),
    lastPictureSec: Math.max(0, ...pictures.map(({ pts_time }) => Number(pts_time))),
    lastKeyAt: Math.max(0, ...keys.map(({ pos }) => Number(pos))),
    packets: packets.length,
    complaints: errors,
  };
}

export async function lookAtBytes(bytes: Uint8Array): Promise<MediaFile> {
  const folder = tempFolder();
  try {
    const path = join(folder, "recording");
    await Bun.write(path, bytes);
    return await look(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Decodes one picture at that time; returns how many bytes were read for it. */
export async function bytesToSeek(url: string, second: number): Promise<number> {
  // Its resolver may not know names below localhost.
  const { host } = new URL(url);
  const address = url.replace(/^http:\/\/[^/:]*localhost/, "http://127.0.0.1");
  // Otherwise it reads the first seconds to guess what the header does not say.
  const input = ["-probesize", "32768", "-analyzeduration", "0", "-headers", `Host: ${host}\r\n`, "-i", address];
  const seek = ["-ss", second.toFixed(3), ...input, "-map", "0:v:0", "-frames:v", "1", "-f", "null", "-"];
  const { errors, code } = await output(["ffmpeg", "-nostdin", "-v", "verbose", ...seek]);
  const frames = /frame=\s*(\d+)/g;
  const decoded = Math.max(0, ...[...errors.matchAll(frames)].map(([, count]) => Number(count)));
  if (code !== 0 || decoded === 0) throw new Error(`no picture at ${second} s: ${errors}`);
  const read = [...errors.matchAll(/Statistics: (\d+) bytes read/g)];
  return read.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}
