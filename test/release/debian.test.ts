/**
 * The Debian package: its contents and scripts; in full runs, a bare Debian in which it is installed, started, taken through the
 * tour, upgraded, removed and purged.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../scripts/release/archive.ts";
import { debianVersion, packDebian, unitOf } from "../../scripts/release/debian.ts";
import type { Release } from "../../scripts/release/facts.ts";
import { freePort } from "../../src/testing/ports.ts";
import { read } from "../deploy/support/files.ts";
import { type Ended, run } from "../deploy/support/program.ts";
import { WITH_BEFORE } from "../support/release-before.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";
import { BareRoot, noBareRoot } from "./support/bare-root.ts";
import { DataOfBefore } from "./support/before.ts";
import { MEETING_ENV, recordedMeeting } from "./support/meeting.ts";
import { ownExecutable } from "./support/released.ts";
import { ready, timed, tourPasses } from "./support/service.ts";

setDefaultTimeout(900_000);

const releaseOf = (version: string): Release => ({
  version,
  commit: "0".repeat(40),
  epochSeconds: 1_700_000_000,
  repository: "https://github.com/owner/parley",
});

const pack = (executable: string, version: string, folder: string, compression?: "none"): Promise<string> => {
  const work = tempFolder(folder);
  const licences = "Some licence\n\nIts text.\n";
  const one = {
    release: releaseOf(version),
    architecture: "amd64",
    executable,
    licences,
    ...(compression && { compression }),
  };
  return packDebian(one, folder, work);
};

describe.skipIf(!Bun.which("dpkg-deb"))("the package", () => {
  const folder = tempFolder();
  let file: string;

  beforeAll(async () => {
    writeFileSync(join(folder, "program"), "#!/bin/sh\necho parley\n");
    file = await pack(join(folder, "program"), "0.2.0", folder);
  });
  afterAll(() => removeFolder(folder));

  const field = async (name: string): Promise<string> => (await run(["dpkg-deb", "-f", file, name])).output.trim();

  test("has the executable, the unit, the settings and the licences, all of root", async () => {
    const { output } = await run(["dpkg-deb", "-c", file]);
    const entries = output
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/))
      .filter(([mode = ""]) => !mode.startsWith("d"))
      .map(([mode, owner, , , , path]) => `${mode} ${owner} ${path}`);
    expect(entries.toSorted()).toEqual(
      [
        "-rw-r----- root/root ./etc/parley/parley.env",
        "-rwxr-xr-x root/root ./usr/bin/parley",
        "-rw-r--r-- root/root ./usr/lib/systemd/system/parley.service",
        "-rw-r--r-- root/root ./usr/lib/sysusers.d/parley.conf",
        "-rw-r--r-- root/root ./usr/share/doc/parley/CHANGELOG.md",
        "-rw-r--r-- root/root ./usr/share/doc/parley/copyright",
      ].toSorted(),
    );
    const { output: copyright } = await run([
      "sh",
      "-c",
      `dpkg-deb --fsys-tarfile '${file}' | tar -xO ./usr/share/doc/parley/copyright`,
    ]);
    expect(copyright).toContain(" Some licence\n .\n Its text.\n");
  });

  test("says what it is and needs, and keeps the settings of an administrator", async () => {
    expect([await field("Package"), await field("Version"), await field("Architecture")]).toEqual([
      "parley",
      "0.2.0",
      "amd64",
    ]);
    expect(await field("Depends")).toContain("libc6");
    expect((await run(["dpkg-deb", "-I", file, "conffiles"])).output).toBe("/etc/parley/parley.env\n");
  });

  test("has scripts that a shell understands", async () => {
    for (const name of ["postinst", "prerm", "postrm"]) {
      const { output } = await run(["dpkg-deb", "-I", file, name]);
      expect(output).toBe(read(`deploy/debian/${name}`));
      expect(await run(["sh", "-n", join(import.meta.dir, "../../deploy/debian", name)])).toEqual({
        code: 0,
        output: "",
      });
    }
  });

  test("has the same bytes when it is made again, elsewhere and later", async () => {
    using other = scratch();
    copyFileSync(join(folder, "program"), join(other.path, "program"));
    expect(await sha256(await pack(join(other.path, "program"), "0.2.0", other.path))).toBe(await sha256(file));
  });
});

test("a version before a release sorts before it", () => {
  expect(["0.3.0-rc.1", "0.3.0"].map(debianVersion)).toEqual(["0.3.0~rc.1", "0.3.0"]);
});

describe("its unit", () => {
  const unit = unitOf(read("deploy/systemd/parley.service"));

  test("has the hardening of deploy/systemd, and runs the executable as the package's user", () => {
    const lines = (text: string): string[] => text.split("\n").filter((line) => /^[A-Z]\w+=/.test(line));
    const own = ["Documentation=", "ExecStart=", "DynamicUser="];
    const expected = lines(read("deploy/systemd/parley.service")).filter(
      (line) => !own.some((one) => line.startsWith(one)),
    );
    const added = ["ExecStart=/usr/bin/parley up", "User=parley", "Group=parley"];
    expect(lines(unit).toSorted()).toEqual([...expected, ...added].toSorted());
    expect(unit).not.toContain("/opt/parley");
  });

  test("cannot be made of a unit that has changed its form", () => {
    expect(() => unitOf("[Unit]\n")).toThrow("parley.service has no");
  });

  test.skipIf(!Bun.which("systemd-analyze"))("is well, and exposes little, as systemd sees it", async () => {
    using folder = scratch();
    const file = join(folder.path, "parley.service");
    // Whether the program and its user exist is not part of the check.
    writeFileSync(file, unit.replace("/usr/bin/parley", "/bin/true").replace(/^(User|Group)=parley$/gm, "$1=nobody"));
    const security = ["security", "--offline=true", "--threshold=20", "--no-pager", file];
    expect((await run(["systemd-analyze", ...security])).code).toBe(0);
    const verified = await run(["systemd-analyze", "verify", "--man=no", file]);
    expect(verified.output.replace(/^.*nobody.*\n/gm, "")).toBe("");
  });
});

describe.skipIf(!IS_FULL || noBareRoot() !== undefined)("in a bare Debian", () => {
  const folder = tempFolder();
  let root: BareRoot;
  let port: number;

  beforeAll(async () => {
    const executable = await ownExecutable(folder);
    root = await BareRoot.make();
    mkdirSync(root.at("packages"));
    for (const version of ["0.2.0", "0.2.1"])
      copyFileSync(await pack(executable, version, folder, "none"), root.at(`packages/parley_${version}.deb`));
    port = await freePort();
  });
  afterAll(() => {
    root?.remove();
    removeFolder(folder);
  });

  const dpkg = (...args: string[]): Promise<Ended> =>
    root.run(["dpkg", ...args], { env: { DEBIAN_FRONTEND: "noninteractive" } });
  const user = async (): Promise<string> => {
    const [, , uid = "", gid = ""] = (await root.run(["getent", "passwd", "parley"])).output.split(":");
    return `${uid}:${gid}`;
  };
  const modeOf = (path: string): string => (statSync(root.at(path)).mode & 0o777).toString(8);

  /** As the unit starts it: with the settings of the file, and as its user. */
  async function whileItRuns(check: () => Promise<void>): Promise<void> {
    const lines = readFileSync(root.at("etc/parley/parley.env"), "utf8").match(/^PARLEY_.*$/gm) ?? [];
    const set = Object.fromEntries(lines.map((line) => line.split("=") as [string, string]));
    const env = {
      ...set,
      ...MEETING_ENV,
      PARLEY_DATA: "/var/lib/parley",
      PARLEY_LOG_FORMAT: "json",
      PARLEY_DEMO: "off",
      PARLEY_PORT: String(port),
    };
    const service = root.start(["/usr/bin/parley", "up"], { user: await user(), env });
    try {
      await timed("Debian package: started after", () => ready(service));
      await check();
    } finally {
      await service.stop();
    }
    expect(service.output).toContain('"msg":"stopped"');
  }

  const healthy = async (): Promise<void> => {
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    const health = await root.run(["parley", "health", "--port", String(port)]);
    expect([health.code, health.output]).toEqual([0, expect.stringContaining("is healthy")]);
  };

  test("there is no Node and no Bun", async () => {
    const look = ["-c", "command -v node bun npm systemctl"];
    expect((await root.run(["sh", ...look])).output).toBe("");
    expect((await run(["env", "-C", folder, root.programHere("/bin/sh"), ...look])).output).toBe("");
  });

  test("it is installed with its user, its data folder and its settings, and starts nothing without systemd", async () => {
    const installed = await timed("Debian package: installed in", () => dpkg("-i", "/packages/parley_0.2.0.deb"));
    expect(installed).toMatchObject({ code: 0 });
    expect((await root.run(["getent", "passwd", "parley"])).output).toContain(":/var/lib/parley:/usr/sbin/nologin");
    expect([modeOf("var/lib/parley"), modeOf("etc/parley/parley.env")]).toEqual(["700", "640"]);
    const { output } = await root.run(["stat", "-c", "%U:%G", "/var/lib/parley", "/etc/parley/parley.env"]);
    expect(output).toBe("parley:parley\nroot:parley\n");
    expect(await dpkg("--verify", "parley")).toEqual({ code: 0, output: "" });
    expect((await root.run(["parley", "version"])).output).toStartWith("parley ");
  });

  test("it runs as its user, answers, mends a recorded meeting, and keeps its data for itself", async () => {
    await whileItRuns(async () => {
      await healthy();
      const url = `http://127.0.0.1:${port}`;
      expect(await recordedMeeting(url, root.at("var/lib/parley/first-run.txt"))).toMatchObject({ mended: true });
    });
    expect(modeOf("var/lib/parley/master.key")).toBe("600");
    expect(`${statSync(root.at("var/lib/parley/master.key")).uid}`).toBe((await user()).split(":")[0] ?? "");
  });

  test("the tour passes, with a recorded meeting", () =>
    timed("Debian package: tour passed in", () => tourPasses(root.programHere("/usr/bin/parley"))));

  test("an upgrade keeps the data and the settings that were changed", async () => {
    const settings = root.at("etc/parley/parley.env");
    writeFileSync(settings, `${readFileSync(settings, "utf8")}PARLEY_LOG_LEVEL=debug\n`);
    const before = readFileSync(root.at("var/lib/parley/master.key"));
    expect(await dpkg("-i", "/packages/parley_0.2.1.deb")).toMatchObject({ code: 0 });
    expect((await dpkg("-s", "parley")).output).toContain("\nVersion: 0.2.1\n");
    expect(readFileSync(settings, "utf8")).toContain("PARLEY_LOG_LEVEL=debug");
    expect((await root.run(["stat", "-c", "%U:%G %a", "/etc/parley/parley.env"])).output).toBe("root:parley 640\n");
    await whileItRuns(healthy);
    expect(readFileSync(root.at("var/lib/parley/master.key"))).toEqual(before);
  });

  test.skipIf(!WITH_BEFORE)("it goes on with the data folder of 0.1.0", async () => {
    const data = root.at("var/lib/parley");
    const before = await DataOfBefore.once();
    for (const name of readdirSync(data)) removeFolder(join(data, name));
    before.layInto(data);
    await root.run(["chown", "-R", "parley:parley", "/var/lib/parley"]);
    await whileItRuns(() => before.goesOnAt(`http://127.0.0.1:${port}`, data));
  });

  test("a removal keeps data and settings, and a purge leaves nothing", async () => {
    expect(await dpkg("-r", "parley")).toMatchObject({ code: 0 });
    expect(existsSync(root.at("usr/bin/parley"))).toBe(false);
    for (const path of ["var/lib/parley/master.key", "etc/parley/parley.env"])
      expect(existsSync(root.at(path))).toBe(true);
    expect(await timed("Debian package: purged in", () => dpkg("-P", "parley"))).toMatchObject({ code: 0 });
    for (const path of ["var/lib/parley", "etc/parley", "usr/share/doc/parley"])
      expect(existsSync(root.at(path))).toBe(false);
    expect((await root.run(["getent", "passwd", "parley"])).output).toBe("");
    const { output } = await root.run([
      "sh",
      "-c",
      "find / -xdev -name '*parley*' -not -path '/packages/*' -not -path '/proc/*'",
    ]);
    expect(output).toBe("");
  });
});
