/** install.sh, with releases whose executable is a small script: what it downloads, verifies, refuses and leaves. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { packed, SUMS, writeSums } from "../../scripts/release/archive.ts";
import { installScript } from "../../scripts/release/install.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";

const TARGETS = ["linux-x64", "linux-arm64", "linux-x64-musl", "darwin-arm64"];
const SCRIPT = "install.sh";
const TLS = {
  certificate: join(import.meta.dir, "../fixtures/tls/one.crt"),
  key: join(import.meta.dir, "../fixtures/tls/one.key"),
};

let releases: string;
let server: ReturnType<typeof Bun.serve>;
/** Redirects /plain/… to the server without TLS, and everything else to itself, as a release's page does. */
let encrypted: ReturnType<typeof Bun.serve>;

/** A release whose executables print their target. PARLEY_ADMIN_LISTEN is in every real one. */
async function makeRelease(folder: string, version: string, program = "exit 0"): Promise<void> {
  using work = scratch();
  mkdirSync(folder, { recursive: true });
  for (const target of TARGETS) {
    const inside = join(work.path, target, "parley");
    mkdirSync(inside, { recursive: true });
    const text = `#!/bin/sh\n# PARLEY_ADMIN_LISTEN\n[ "$1" = version ] && echo "parley ${version} (${target})"\n${program}\n`;
    writeFileSync(join(inside, "parley"), text, { mode: 0o755 });
    await packed(join(folder, `parley-${target}.tar.gz`), join(work.path, target), ["parley"], 0);
  }
  await writeSums(folder);
}

beforeAll(async () => {
  releases = tempFolder();
  await makeRelease(join(releases, "latest/download"), "0.3.0");
  await makeRelease(join(releases, "download/v0.2.0"), "0.2.0");
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const file = join(releases, new URL(url).pathname.replace(/^\/parley\/releases\//, ""));
      return existsSync(file) ? new Response(Bun.file(file)) : new Response("", { status: 404 });
    },
  });
  encrypted = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: Bun.file(TLS.certificate), key: Bun.file(TLS.key) },
    fetch: ({ url }) => {
      const [, place = "", file = ""] = /^\/(\w+)\/(.*)$/.exec(new URL(url).pathname) ?? [];
      if (place === "here") return new Response(Bun.file(join(releases, "latest/download", file)));
      const plain = `http://127.0.0.1:${server.port}/parley/releases/latest/download/${file}`;
      return Response.redirect(place === "plain" ? plain : new URL(`/here/${file}`, url).href);
    },
  });
  writeFileSync(join(releases, "wgetrc"), `ca_certificate = ${TLS.certificate}\n`);
  writeFileSync(join(releases, SCRIPT), installScript({ repository: `http://127.0.0.1:${server.port}/parley` }));
});
afterAll(() => {
  server?.stop(true);
  encrypted?.stop(true);
  removeFolder(releases);
});

interface Machine {
  readonly system?: string;
  readonly machine?: string;
  readonly isMusl?: boolean;
}

/** A home folder, and a PATH on which uname and getconf describe another machine. */
class Home implements Disposable {
  readonly path = tempFolder();
  readonly program = join(this.path, ".local/bin/parley");

  constructor({ system = "Linux", machine = "x86_64", isMusl = false }: Machine = {}) {
    const tools = join(this.path, "tools");
    mkdirSync(tools);
    writeFileSync(join(tools, "uname"), `#!/bin/sh\n[ "$1" = -s ] && echo ${system} || echo ${machine}\n`);
    writeFileSync(join(tools, "getconf"), `#!/bin/sh\nexit ${isMusl ? 1 : 0}\n`);
    for (const name of ["uname", "getconf"]) chmodSync(join(tools, name), 0o755);
    // Without getconf's answer, the dynamic linkers decide: those of this machine are not to count.
    if (isMusl) this.script = changedScript(tools);
  }

  private readonly script: string = join(releases, SCRIPT);
  private others = ["/usr/bin", "/bin"];

  /** Only what the script needs, without curl. */
  withoutCurl(): void {
    const folder = join(this.path, "tools/others");
    mkdirSync(folder);
    const names = "awk cat chmod cp grep gzip mkdir mktemp mv readlink rm sh sha256sum tail tar wget".split(" ");
    for (const name of names) symlinkSync(Bun.which(name) ?? name, join(folder, name));
    this.others = [folder];
  }

  async install(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const path = this.others.join(":");
    const trust = { CURL_CA_BUNDLE: TLS.certificate, WGETRC: join(releases, "wgetrc") };
    const env = { HOME: this.path, PATH: `${join(this.path, "tools")}:${path}`, TMPDIR: this.path, ...trust };
    const child = Bun.spawn(["sh", this.script, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { code, out, err };
  }

  /** What it has left in the folder for temporary files, which is the home folder here. */
  get left(): string[] {
    return readdirSync(this.path).filter((name) => name !== "tools" && name !== ".local");
  }

  async version(): Promise<string> {
    return (await new Response(Bun.spawn([this.program, "version"], { stdout: "pipe" }).stdout).text()).trim();
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

/** The linker of musl, in a folder that a test may write to. */
function changedScript(tools: string): string {
  writeFileSync(join(tools, "ld-musl-x86_64.so.1"), "");
  const file = join(tools, SCRIPT);
  writeFileSync(file, readFileSync(join(releases, SCRIPT), "utf8").replace("/lib/ld-musl-", `${tools}/ld-musl-`));
  return file;
}

describe("install.sh", () => {
  test("installs the latest release without root, and says what to do next", async () => {
    using home = new Home();
    const { code, out } = await home.install();
    expect([code, out]).toEqual([0, expect.stringContaining(`parley 0.3.0 is installed in ${home.program}`)]);
    expect(out).toContain(`${home.program} up`);
    expect(out).toContain(`export PATH="${join(home.path, ".local/bin")}:$PATH"`);
    expect(await home.version()).toBe("parley 0.3.0 (linux-x64)");
    expect(statSync(home.program).mode & 0o777).toBe(0o755);
    expect(home.left).toEqual([]);
  });

  test("replaces an older version, and installs the one that is asked for", async () => {
    using home = new Home();
    expect((await home.install("--version", "v0.2.0")).code).toBe(0);
    expect(await home.version()).toStartWith("parley 0.2.0");
    expect((await home.install()).code).toBe(0);
    expect(await home.version()).toStartWith("parley 0.3.0");
  });

  test.each([
    [{ machine: "aarch64" }, "linux-arm64"],
    [{ system: "Darwin", machine: "arm64" }, "darwin-arm64"],
    [{ isMusl: true }, "linux-x64-musl"],
  ])("finds the executable of %o", async (machine, target) => {
    using home = new Home(machine);
    expect((await home.install("--from", `file://${join(releases, "latest/download")}/`)).code).toBe(0);
    expect(await home.version()).toBe(`parley 0.3.0 (${target})`);
  });

  test.each([
    [{ system: "Plan9" }, "there is no executable for Plan9"],
    [{ machine: "riscv64" }, "there is no executable for riscv64"],
  ])("says that there is none for %o", async (machine, reason) => {
    using home = new Home(machine);
    const { code, err } = await home.install();
    expect([code, err]).toEqual([1, expect.stringContaining(reason)]);
    expect(existsSync(home.program)).toBe(false);
  });

  /** A copy of the latest release, for tests that damage it. */
  async function damaged(folder: string, damage: (folder: string) => void): Promise<string> {
    await makeRelease(folder, "0.3.0");
    damage(folder);
    return `file://${folder}`;
  }

  test.each([
    [
      "an archive with another checksum",
      "the checksum of parley-linux-x64.tar.gz is wrong",
      (folder: string) => writeFileSync(join(folder, "parley-linux-x64.tar.gz"), "other bytes"),
    ],
    [
      "an archive that has no checksum",
      "does not list parley-linux-x64.tar.gz",
      (folder: string) => writeFileSync(join(folder, SUMS), "00  parley-linux-arm64.tar.gz\n"),
    ],
    ["a release without checksums", `${SUMS} cannot be read`, (folder: string) => removeFolder(join(folder, SUMS))],
  ])("refuses %s, and keeps what is installed", async (_, reason, damage) => {
    using home = new Home();
    await home.install("--version", "0.2.0");
    using folder = scratch();
    const { code, err } = await home.install("--from", await damaged(folder.path, damage));
    expect([code, err]).toEqual([1, expect.stringContaining(reason)]);
    expect(await home.version()).toStartWith("parley 0.2.0");
    expect(home.left).toEqual([]);
  });

  test("keeps what is installed if the new executable does not run here", async () => {
    using home = new Home();
    await home.install("--version", "0.2.0");
    using folder = scratch();
    await makeRelease(folder.path, "0.3.0", "exit 3");
    const { code, err } = await home.install("--from", `file://${folder.path}`);
    expect([code, err]).toEqual([1, expect.stringContaining("does not run on this system")]);
    expect(await home.version()).toStartWith("parley 0.2.0");
  });

  test.each(["curl", "wget"].filter((name) => Bun.which(name)))(
    "by %s it follows no redirect from https to http",
    async (name) => {
      using home = new Home();
      if (name === "wget") home.withoutCurl();
      const origin = `https://127.0.0.1:${encrypted.port}`;
      const refused = await home.install("--from", `${origin}/plain`);
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("leads to an address without https")]);
      expect(existsSync(home.program)).toBe(false);
      expect(await home.install("--from", `${origin}/there`)).toMatchObject({ code: 0 });
      expect(await home.version()).toStartWith("parley 0.3.0");
      expect(home.left).toEqual([]);
    },
  );

  test("replaces nothing that is not Parley", async () => {
    using home = new Home();
    mkdirSync(join(home.path, ".local/bin"), { recursive: true });
    writeFileSync(home.program, "#!/bin/sh\necho another program\n");
    expect((await home.install()).err).toContain("exists and is not Parley");
    removeFolder(home.program);
    symlinkSync("/bin/true", home.program);
    expect((await home.install()).err).toContain("is a link to /bin/true");
  });

  test("explains a wrong command line, and an address that does not answer", async () => {
    using home = new Home();
    expect(await home.install("--too", "x")).toMatchObject({ code: 1, err: expect.stringContaining("no --too") });
    expect(await home.install("--to")).toMatchObject({ code: 1, err: expect.stringContaining("needs a value") });
    expect(await home.install("--from", "ftp://x")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no address"),
    });
    expect(await home.install("--version", "9.9.9")).toMatchObject({
      code: 1,
      err: expect.stringContaining("v9.9.9/SHA256SUMS cannot be downloaded"),
    });
    expect((await home.install("--help")).out).toContain("--from URL");
  });

  test("asks for an address if its release was made without one", async () => {
    using home = new Home();
    const script = join(home.path, "tools", SCRIPT);
    writeFileSync(script, installScript({ repository: "" }));
    const child = Bun.spawn(["sh", script], { env: { HOME: home.path, PATH: "/usr/bin:/bin" }, stderr: "pipe" });
    expect(await child.stderr.text()).toContain("give the address of their folder with --from");
    expect(await child.exited).toBe(1);
  });
});
