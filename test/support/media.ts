/** Recordings as players see them: with ffmpeg's programs, over HTTP with ranges. */
import { join } from "node:path";
import {
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  FilePathSource,
  FilePathTarget,
  Input,
  Output,
  WEBM,
  WebMOutputFormat,
} from "mediabunny";

/** Files that Chromium's recorder made from its fake camera and microphone. */
export const RECORDED = join(import.meta.dir, "../fixtures/recorded");

export interface Probed {
  /** In seconds. NaN: the file does not say it. */
  readonly duration: number;
  readonly codecs: readonly string[];
}

/** `from`: a path or a URL. */
export async function ffprobe(from: string): Promise<Probed> {
  const text = await output("ffprobe", [
    "-v",
    "error",
    "-show_entries",
    "format=duration:stream=codec_name",
    "-of",
    "json",
    from,
  ]);
  const { format, streams } = JSON.parse(text) as { format: { duration?: string }; streams: { codec_name: string }[] };
  return { duration: Number(format.duration ?? Number.NaN), codecs: streams.map((one) => one.codec_name).sort() };
}

/**
 * Decodes all of it, and returns what the decoder complains about. In the times of the file itself: pictures of Firefox do not come
 * evenly, and two of them would share a time of the average rate.
 */
export const complaints = (path: string): Promise<string> =>
  output("ffmpeg", ["-v", "error", "-i", path, "-enc_time_base", "-1", "-f", "null", "-"], "stderr");

/** Decodes one frame at that second. */
export const frameAt = (url: string, second: number): Promise<string> =>
  output("ffmpeg", ["-v", "error", "-ss", String(second), "-i", url, "-frames:v", "1", "-f", "framemd5", "-"]);

async function output(program: string, args: readonly string[], from: "stdout" | "stderr" = "stdout"): Promise<string> {
  const child = Bun.spawn([program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${program} failed: ${stderr}`);
  return from === "stdout" ? stdout : stderr;
}

export interface RangeServer {
  readonly url: string;
  /** How many bytes it has sent in answers. */
  sent: number;
  stop(): void;
}

/** As over a network of about 3 MB/s: otherwise the system's buffers would take megabytes that a reader never wants. */
const PIECE_BYTES = 64 * 1024;
const PIECE_EVERY_MS = 20;

/** Serves one file with ranges. `mostBytes`: how much of a range an answer has, for readers that ask for the rest when they want it. */
export function serveRanges(path: string, mostBytes = Number.POSITIVE_INFINITY): RangeServer {
  const file = Bun.file(path);
  const server = Bun.serve({
    port: 0,
    fetch: (request) => {
      const [, first = "0", last = ""] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("Range") ?? "") ?? [];
      const start = Number(first);
      const end = Math.min(last === "" ? file.size - 1 : Number(last), start + mostBytes - 1);
      let at = start;
      const body = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          if (at > end) return controller.close();
          await Bun.sleep(PIECE_EVERY_MS);
          const piece = await file.slice(at, Math.min(end + 1, at + PIECE_BYTES)).bytes();
          at += piece.length;
          counting.sent += piece.length;
          controller.enqueue(piece);
        },
      });
      const headers = {
        "Accept-Ranges": "bytes",
        "Access-Control-Allow-Origin": "*",
        "Content-Length": String(end - start + 1),
        "Content-Type": "video/webm",
        "Content-Range": `bytes ${start}-${end}/${file.size}`,
      };
      return new Response(body, { status: 206, headers });
    },
  });
  const counting: RangeServer = {
    url: `http://localhost:${server.port}/`,
    sent: 0,
    stop: () => void server.stop(true),
  };
  return counting;
}

/** The same recording several times over, as a recorder would write it: a stream without a duration. */
export async function looped(from: string, times: number, to: string): Promise<void> {
  const input = new Input({ formats: [WEBM], source: new FilePathSource(from) });
  const written = new Output({ format: new WebMOutputFormat({ appendOnly: true }), target: new FilePathTarget(to) });
  const [video, audio] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()];
  if (!video || !audio) throw new Error("it has no camera or no microphone");
  const sources = [new EncodedVideoPacketSource("vp8"), new EncodedAudioPacketSource("opus")] as const;
  written.addVideoTrack(sources[0]);
  written.addAudioTrack(sources[1]);
  await written.start();
  const packets: { packet: EncodedPacket; add: (packet: EncodedPacket) => Promise<void> }[] = [];
  const [videoConfig, audioConfig] = [await video.getDecoderConfig(), await audio.getDecoderConfig()];
  if (!videoConfig || !audioConfig) throw new Error("its codecs are not known");
  for await (const packet of new EncodedPacketSink(video).packets())
    packets.push({ packet, add: (one) => sources[0].add(one, { decoderConfig: videoConfig }) });
  for await (const packet of new EncodedPacketSink(audio).packets())
    packets.push({ packet, add: (one) => sources[1].add(one, { decoderConfig: audioConfig }) });
  packets.sort((a, b) => a.packet.timestamp - b.packet.timestamp);
  const length = Math.max(...packets.map(({ packet }) => packet.timestamp)) + 0.1;
  for (let i = 0; i < times; i++)
    for (const { packet, add } of packets) await add(packet.clone({ timestamp: packet.timestamp + i * length }));
  await written.finalize();
}
