/** For tests: what a player finds in a file. */
import { ALL_FORMATS, EncodedPacketSink, FilePathSource, Input } from "mediabunny";

export interface ReadBack {
  /** In seconds, as the file says it. null: it does not. */
  readonly duration: number | null;
  /** Times of the first and the last packet, and how many there are, by the type of track. */
  readonly tracks: Readonly<Record<string, { readonly first: number; readonly last: number; readonly count: number }>>;
}

export async function readBack(path: string): Promise<ReadBack> {
  const input = new Input({ formats: ALL_FORMATS, source: new FilePathSource(path) });
  const tracks: Record<string, { first: number; last: number; count: number }> = {};
  for (const track of await input.getTracks()) {
    const sink = new EncodedPacketSink(track);
    const found = { first: Number.NaN, last: Number.NaN, count: 0 };
    for await (const { timestamp } of sink.packets(undefined, undefined, { metadataOnly: true })) {
      if (found.count++ === 0) found.first = timestamp;
      found.last = timestamp;
    }
    tracks[track.type] = found;
  }
  const duration = await input.getDurationFromMetadata();
  input.dispose();
  return { duration, tracks };
}

const IDS = { cues: 0x1c53bb6b, seekHead: 0x114d9b74, cluster: 0x1f43b675 };

/** Whether a WebM file has its index in front of its frames, and its head says where. */
export async function isSeekable(path: string): Promise<boolean> {
  const bytes = await Bun.file(path).bytes();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const at = (id: number): number => {
    for (let i = 0; i < bytes.length - 4; i++) if (view.getUint32(i) === id) return i;
    return -1;
  };
  const seekHead = at(IDS.seekHead);
  if (seekHead < 0 || seekHead > 200) return false;
  // The entry of the index: its id, then SeekPosition (0x53ac) with 5 bytes.
  const head = Buffer.from(bytes.subarray(seekHead, seekHead + 200));
  const entry = head.indexOf(Buffer.from([0x1c, 0x53, 0xbb, 0x6b, 0x53, 0xac]));
  const position = Number(BigInt(`0x${head.subarray(entry + 7, entry + 12).toString("hex")}`));
  const index = position + seekHead;
  // In front of the first cluster: Chromium reads the whole file otherwise.
  return entry > 0 && view.getUint32(index) === IDS.cues && index < at(IDS.cluster);
}

/** The times in the index of a mended WebM file, in milliseconds. */
export async function indexedTimes(path: string): Promise<number[]> {
  const bytes = Buffer.from(await Bun.file(path).bytes());
  const head = Buffer.alloc(4);
  head.writeUInt32BE(IDS.cues);
  // The first one is its entry in the head.
  const at = bytes.indexOf(head, bytes.indexOf(head) + 4) + 8;
  const end = at + (bytes.readUInt32BE(at - 4) & 0xfffffff);
  return Array.from({ length: (end - at) / 20 }, (_, i) => bytes.readUInt32BE(at + i * 20 + 4));
}
