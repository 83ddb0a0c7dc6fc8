/**
 * A bare Debian in a folder: no Node, no Bun, no systemd. `debootstrap` makes it once, and each test gets a copy. Each program that runs
 * in it has mounts of its own, which end with it.
 */
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Ended, Running, run } from "../../deploy/support/program.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SUITE = "bookworm";
const CACHE = join(import.meta.dir, "../../../node_modules/.cache");
const KEPT = join(CACHE, `bare-root-${SUITE}.tar`);

/** Why there can be none here; undefined if there can. */
export function noBareRoot(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can make a bare root";
  const missing = ["debootstrap", "unshare", "chroot", "dpkg-deb"].filter((name) => !Bun.which(name));
  return missing.length > 0 ? `missing: ${missing.join(", ")}` : undefined;
}

export interface Inside {
  /** uid:gid; root if absent. */
  readonly user?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The root cannot be written to, but for these folders. */
  readonly writable?: readonly string[];
  readonly cwd?: string;
}

export class BareRoot {
  private readonly programs: string[] = [];

  private constructor(readonly path: string) {}

  static async make(): Promise<BareRoot> {
    if (!existsSync(KEPT)) await bootstrap();
    const path = tempFolder();
    await must(["tar", "-xf", KEPT, "-C", path, "--numeric-owner"]);
    await must(["chmod", "0755", path]);
    return new BareRoot(path);
  }

  /** The path of a file outside of the root. */
  at(path: string): string {
    return join(this.path, path);
  }

  run(command: readonly string[], inside: Inside = {}): Promise<Ended> {
    return run(this.commandOf(command, inside));
  }

  start(command: readonly string[], inside: Inside = {}): Running {
    return new Running(this.commandOf(command, inside));
  }

  /**
   * A program on this machine that runs one of the root, as if it were installed here: in the folder of its caller, with the caller's
   * variables, and the temporary folders of this machine, in which the caller must be. It sees no other file of this machine.
   */
  programHere(path: string): string {
    const file = `${this.path}-${basename(path)}`;
    mkdirSync(this.at(tmpdir()), { recursive: true });
    const mounts = `mount --bind '${tmpdir()}' '${this.at(tmpdir())}' && mount -t proc proc '${this.at("proc")}'`;
    const enter = `chroot '${this.path}' /usr/bin/env -C "$PWD" PATH=${PATH} '${path}' "$@"`;
    writeFileSync(
      file,
      `#!/bin/sh\nexec unshare --mount sh -c '${mounts.replaceAll("'", `'\\''`)} && exec "$@"' sh ${enter}\n`,
      { mode: 0o755 },
    );
    this.programs.push(file);
    return file;
  }

  remove(): void {
    for (const path of [this.path, ...this.programs]) removeFolder(path);
  }

  private commandOf(command: readonly string[], { user, env = {}, writable, cwd = "/" }: Inside): string[] {
    const bind = (path: string): string => `mount --bind '${path}' '${path}'`;
    const readOnly = [
      bind(this.path),
      ...(writable ?? []).map((path) => bind(this.at(path))),
      `mount -o remount,ro,bind '${this.path}'`,
    ];
    const mounts = [...(writable === undefined ? [] : readOnly), `mount -t proc proc '${this.at("proc")}'`];
    const [uid = "0", gid = "0"] = user?.split(":") ?? [];
    const set = { PATH, HOME: "/", ...env };
    const variables = Object.entries(set).map(([name, value]) => `${name}=${value}`);
    const enter = ["chroot", `--userspec=${uid}:${gid}`, "--groups=", this.path, "/usr/bin/env", "-i", "-C", cwd];
    const script = `${mounts.join(" && ")} && exec "$@"`;
    // Each of these replaces itself by the next: a signal reaches the program.
    const own = ["unshare", "--mount", "sh", "-c", script, "sh"];
    return [...own, ...enter, ...variables, ...command];
  }
}

/** Kept as an archive, so that device files and owners stay as they are. */
async function bootstrap(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const folder = tempFolder(CACHE);
  try {
    await must(["debootstrap", "--variant=minbase", SUITE, join(folder, "root")]);
    const root = join(folder, "root");
    await must(["sh", "-c", `rm -rf '${root}'/var/cache/apt/archives/*.deb '${root}'/var/lib/apt/lists/*`]);
    await must(["tar", "-cf", join(folder, "root.tar"), "--numeric-owner", "-C", root, "."]);
    renameSync(join(folder, "root.tar"), KEPT);
  } finally {
    removeFolder(folder);
  }
}

async function must(command: readonly string[]): Promise<void> {
  const { code, output } = await run(command);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${output.slice(-2000)}`);
}
