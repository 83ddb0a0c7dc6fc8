/** The Debian package, made by `dpkg-deb` without further tools: its contents are a handful of files. */
import { chmodSync, mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { place } from "./binaries.ts";
import { projectFile, type Release } from "./facts.ts";
import { output } from "./program.ts";

/** Debian's name of an architecture, by the target of the executable. */
export const DEBIAN_ARCHITECTURES: Readonly<Record<string, string>> = { "linux-x64": "amd64", "linux-arm64": "arm64" };

const SETTINGS_FILE = "etc/parley/parley.env";
const SCRIPTS = ["postinst", "prerm", "postrm"] as const;
const MAINTAINER = "Parley contributors <noreply@parley.invalid>";

export interface DebianPackage {
  readonly release: Release;
  /** amd64 or arm64. */
  readonly architecture: string;
  readonly executable: string;
  /** The licences of everything in the executable. */
  readonly licences: string;
  /** `none` for tests, because compressing an executable takes a minute. */
  readonly compression?: "xz" | "none";
}

/** Writes parley_0.2.0_amd64.deb into `out`, and returns its path. */
export async function packDebian(one: DebianPackage, out: string, work: string): Promise<string> {
  const { release, architecture, compression = "xz" } = one;
  const root = join(work, `debian-${architecture}`);
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  place(one.executable, join(root, "usr/bin/parley"));
  for (const [path, text] of Object.entries(filesOf(one))) write(root, path, text, 0o644);
  chmodSync(join(root, SETTINGS_FILE), 0o640);
  write(root, "DEBIAN/control", controlOf(release, architecture, kibibytesIn(root)), 0o644);
  write(root, "DEBIAN/conffiles", `/${SETTINGS_FILE}\n`, 0o644);
  for (const name of SCRIPTS) write(root, `DEBIAN/${name}`, projectFile(`deploy/debian/${name}`), 0o755);
  write(root, "DEBIAN/md5sums", await sumsOf(root), 0o644);
  await sameForEveryone(root, release.epochSeconds);
  const file = join(out, `parley_${debianVersion(release.version)}_${architecture}.deb`);
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  // One thread: with several, the compressed bytes depend on the number of cores.
  await output(["dpkg-deb", "--root-owner-group", `-Z${compression}`, "--threads-max=1", "--build", root, file], {
    env,
  });
  return file;
}

/** 0.3.0-rc.1 comes before 0.3.0: for dpkg that is a tilde. */
export const debianVersion = (version: string): string => version.replace("-", "~");

function filesOf({ release, licences }: DebianPackage): Record<string, string> {
  return {
    [SETTINGS_FILE]: projectFile("deploy/debian/parley.env"),
    "usr/lib/systemd/system/parley.service": unitOf(projectFile("deploy/systemd/parley.service")),
    "usr/lib/sysusers.d/parley.conf": projectFile("deploy/debian/sysusers.conf"),
    "usr/share/doc/parley/copyright": copyrightOf(release, licences),
    "usr/share/doc/parley/CHANGELOG.md": projectFile("CHANGELOG.md"),
  };
}

/** The unit of deploy/systemd, for the executable and a user that outlives the service: its data must be readable by commands. */
export function unitOf(unit: string): string {
  const changes: readonly (readonly [RegExp, string])[] = [
    [/^(#.*\n)+/, "# One node as a service. Settings and secrets: /etc/parley/parley.env.\n"],
    [/^Documentation=.*\n/m, ""],
    [/^ExecStart=\/opt\/parley\/bin\/parley up$/m, "ExecStart=/usr/bin/parley up"],
    [/^DynamicUser=yes$/m, "User=parley\nGroup=parley"],
  ];
  return changes.reduce((text, [from, to]) => {
    if (!from.test(text)) throw new Error(`deploy/systemd/parley.service has no ${from}`);
    return text.replace(from, to);
  }, unit);
}

function controlOf({ version, repository }: Release, architecture: string, kibibytes: number): string {
  const home = repository === "" ? "" : `Homepage: ${repository}\n`;
  return `Package: parley
Version: ${debianVersion(version)}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.17), passwd, init-system-helpers (>= 1.54~)
Section: net
Priority: optional
${home}Description: realtime messaging service
 WebSocket channels, presence, direct messages, history and meetings in the
 browser with recordings, as one executable that needs no other runtime.
`;
}

function copyrightOf({ repository }: Release, licences: string): string {
  const source = repository === "" ? "" : `Source: ${repository}\n`;
  const indented = licences
    .trimEnd()
    .split("\n")
    .map((line) => (line.trim() === "" ? " ." : ` ${line}`));
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: parley
${source}Comment:
 Parley is licensed under the Apache License 2.0. The executable has further
 components inside. These are the licences of all of them:
 .
${indented.join("\n")}

Files: *
Copyright: the Parley contributors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
`;
}

function write(root: string, path: string, text: string, mode: number): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
}

/** Only files count: how large a folder is depends on the file system. */
function kibibytesIn(root: string): number {
  const files = [...new Bun.Glob("**/*").scanSync({ cwd: root })];
  return files.reduce((sum, path) => sum + Math.ceil(statSync(join(root, path)).size / 1024), 0);
}

/** For `dpkg --verify`. Settings are left out, because administrators change them. */
async function sumsOf(root: string): Promise<string> {
  const command = `find usr -type f | LC_ALL=C sort | xargs md5sum`;
  return output(["sh", "-c", command], { cwd: root });
}

/** Folders with the same mode, whatever the umask is, and one date. */
async function sameForEveryone(root: string, epochSeconds: number): Promise<void> {
  await output(["find", root, "-type", "d", "-exec", "chmod", "0755", "{}", "+"]);
  for (const path of new Bun.Glob("**/*").scanSync({ cwd: root, onlyFiles: false, dot: true }))
    utimesSync(join(root, path), epochSeconds, epochSeconds);
  utimesSync(root, epochSeconds, epochSeconds);
}
