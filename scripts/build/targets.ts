/** The systems that Parley is built for: those that Bun has a package for, without Android. */
import { closeSync, openSync, readSync } from "node:fs";

export interface Target {
  /** In the name of the file and after `--target`. */
  readonly name: string;
  /** The npm package with Bun for it. */
  readonly runtime: string;
  /** As Bun's bundler names it. */
  readonly compiled: Bun.Build.CompileTarget;
}

const target = (name: string, bun: string): Target => ({
  name,
  runtime: `@oven/bun-${bun}`,
  compiled: `bun-${name}` as Bun.Build.CompileTarget,
});

export const TARGETS: readonly Target[] = [
  target("linux-x64", "linux-x64"),
  target("linux-arm64", "linux-aarch64"),
  target("linux-x64-musl", "linux-x64-musl"),
  target("linux-arm64-musl", "linux-aarch64-musl"),
  target("darwin-x64", "darwin-x64"),
  target("darwin-arm64", "darwin-aarch64"),
  target("freebsd-x64", "freebsd-x64"),
  target("freebsd-arm64", "freebsd-aarch64"),
  target("windows-x64", "windows-x64"),
  target("windows-arm64", "windows-aarch64"),
];

export const fileNameOf = ({ name }: Target): string => `parley-${name}${name.startsWith("windows") ? ".exe" : ""}`;

export function targetNamed(name: string): Target {
  const found = TARGETS.find((one) => one.name === name);
  if (!found)
    throw new Error(
      `there is no target ${JSON.stringify(name)}; there are ${TARGETS.map((one) => one.name).join(", ")}`,
    );
  return found;
}

/** The system that this runs on. */
export function ownTarget(): Target {
  const { platform, arch } = process;
  const system = platform === "win32" ? "windows" : platform;
  return targetNamed(`${system}-${arch}${platform === "linux" && usesMusl(process.execPath) ? "-musl" : ""}`);
}

/** A program for Linux names its loader near its beginning. A system can have the libraries of both kinds. */
const HEAD_BYTES = 4096;

function usesMusl(program: string): boolean {
  const head = Buffer.alloc(HEAD_BYTES);
  const file = openSync(program, "r");
  readSync(file, head);
  closeSync(file);
  return head.includes("/ld-musl-");
}
