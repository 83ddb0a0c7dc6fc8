/**
 * The file format of a backup, version 1. From the inside out:
 *
 * - A tar: ustar, with a pax header before an entry of more than 8 GiB or with a name of more than 100 bytes. Its first entry is
 *   `parley-backup.json`, the manifest: a JSON object with `"format": 1`. Its last entry is `SHA256SUMS`, in the format of sha256sum, with
 *   a line for each entry before it, in their order. Then come two empty blocks, and nothing else.
 * - zstd: independent frames, each with 1 MiB of the tar and its length in its header. Each frame is compressed and decompressed as a whole,
 *   so neither side holds more than a few frames, and a frame that claims more is refused before it is decompressed.
 * - With a key, chunks of AES-256-GCM (sealing.ts).
 *
 * Without a key, `tar --zstd -xf` opens it, and `sha256sum -c SHA256SUMS` checks it.
 */

export const FORMAT = 1;
export const MANIFEST_NAME = "parley-backup.json";
export const SUMS_NAME = "SHA256SUMS";

const KIB = 1024;
const MIB = 1024 * KIB;

export const MANIFEST_MAX_BYTES = MIB;
/** Longer names than this fit no file system. */
export const NAME_MAX_BYTES = 1000;
/** Bound: an entry costs at most 22 bytes of memory while an archive is written or read (names.ts), so all of them 512 MiB. */
export const ENTRIES_MAX = 20_000_000;

/** How much of the tar a frame has that we write, and at most may have. */
export const FRAME_BYTES = MIB;
export const FRAME_MAX_BYTES = 4 * MIB;
/** Most of a backup are recordings, which do not get smaller; higher levels only cost time. */
export const ZSTD_LEVEL = 1;

export const KEY_BYTES = 32;
/** How much of the compressed tar a sealed chunk has; only the last has less. */
export const CHUNK_BYTES = 64 * KIB;
