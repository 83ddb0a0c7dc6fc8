/**
 * The Dockerfile. Without a Docker daemon no image can be built: the file is parsed, and what its last stage copies is put
 * into a folder and run from there, without npm and Node, by another user, with its own health check.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { freePort } from "../../src/testing/ports.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { exec, only, parseDockerfile, reachesBuild, type Stage } from "./support/dockerfile.ts";
import { filesOf, PROJECT, read } from "./support/files.ts";
import { Running, run } from "./support/program.ts";

const ignore = read(".dockerignore");
const stages = parseDockerfile(read("deploy/Dockerfile"));
const [build, image] = stages as [Stage, Stage];
const text = read("deploy/Dockerfile");

describe("the Dockerfile", () => {
  test("has two stages on bases with an exact version", () => {
    expect(stages.map(({ name }) => name)).toEqual(["build", ""]);
    for (const { from } of stages) expect(from).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]*slim$/);
  });

  test("installs from the lockfile without development packages, and only while it is built", () => {
    expect(only(build, "RUN")).toContain("npm ci --omit=dev");
    const commands = image.instructions.filter(({ name }) => name === "RUN").map((one) => one.text);
    expect(commands.filter((command) => /npm|apt|curl|wget/.test(command))).toEqual([]);
  });

  test("runs as a user other than root who owns the data", () => {
    const [uid = "", gid = ""] = only(image, "USER").split(":");
    expect([Number(uid), Number(gid)]).toEqual([10_001, 10_001]);
    const made = image.instructions.find(({ name }) => name === "RUN")?.text;
    expect(made).toContain(`useradd --uid ${uid} --gid ${gid}`);
    expect(made).toContain("install -d -o parley -g parley -m 0700 /data");
    expect(only(image, "VOLUME")).toBe("/data");
    expect(only(image, "ENV")).toContain("PARLEY_DATA=/data");
  });

  test("listens outside its container, and creates no demo", () => {
    expect(only(image, "ENV").split(" ")).toEqual(expect.arrayContaining(["PARLEY_HOST=0.0.0.0", "PARLEY_DEMO=off"]));
  });

  test("execs parley itself, so that SIGTERM drains it", () => {
    expect(only(image, "STOPSIGNAL")).toBe("SIGTERM");
    expect(exec(only(image, "ENTRYPOINT"))).toEqual(["/app/bin/parley"]);
    expect(exec(only(image, "CMD"))).toEqual(["up"]);
  });

  test("names the version of this project, and contains no secret", () => {
    for (const [, version] of text.matchAll(/parley:(\d[\d.]*)/g)) expect(version).toBe(manifest.version);
    expect(text).not.toMatch(/PARLEY_(ADMIN_TOKEN|MASTER_KEY|DATABASE_URL|NATS_URL)|\bARG\b|sk_secret|password/i);
  });

  test("has nothing in its build context that it does not copy", () => {
    for (const kept of [
      "package.json",
      "package-lock.json",
      "bin/parley",
      "bin/setup.sh",
      "src/main.ts",
      "web/start/index.html",
      "client/src/all.ts",
      "deploy/health.ts",
    ])
      expect([kept, reachesBuild(ignore, kept)]).toEqual([kept, true]);
    for (const left of [
      "data/master.key",
      ".env",
      ".git/config",
      "deploy/compose/.env",
      "deploy/kubernetes/secret.yaml",
    ])
      expect([left, reachesBuild(ignore, left)]).toEqual([left, false]);
    for (const left of [
      "node_modules/zod/package.json",
      "bin/dev",
      "src/access/tokens/token.test.ts",
      "src/realtime/testing/kit.ts",
    ])
      expect([left, reachesBuild(ignore, left)]).toEqual([left, false]);
  });

  test("is recognised as wrong after a change", () => {
    expect(() => parseDockerfile("RUN x\nFROM y")).toThrow("before the first FROM");
    expect(() => parseDockerfile("FROM y\nRUNN x")).toThrow("no instruction RUNN");
    expect(() => only(image, "RUN") + only(build, "USER")).toThrow();
  });
});

/** The last stage as a folder. */
describe("the contents of the image", () => {
  const root = tempFolder();
  const app = join(root, "app");
  const data = join(root, "data");
  let port: number;
  let node: Running;

  /** By hard link where possible, because the binary has 100 MB. */
  const place = (from: string, to: string): void => {
    mkdirSync(dirname(to), { recursive: true });
    try {
      linkSync(from, to);
    } catch {
      cpSync(from, to);
    }
  };

  /** Packages that `npm ci --omit=dev` installs. */
  const installed = (): string[] => {
    const { packages } = JSON.parse(read("package-lock.json")) as {
      packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
    };
    return Object.entries(packages).flatMap(([path, { dev, devOptional }]) =>
      path === "" || dev || devOptional || !existsSync(join(PROJECT, path)) ? [] : [path],
    );
  };

  const copy = (path: string): void => {
    for (const file of filesOf(path)) place(join(PROJECT, file), join(app, file));
  };

  const environment = (): Record<string, string> => ({
    PATH: join(root, "bin"),
    PARLEY_PORT: String(port),
    PARLEY_HOST: "127.0.0.1",
    PARLEY_DATA: data,
    PARLEY_LOG_FORMAT: "json",
    PARLEY_DEMO: "off",
  });

  const asUser = (command: readonly string[]): string[] =>
    process.getuid?.() === 0
      ? [
          "/usr/bin/setpriv",
          "--reuid=10001",
          "--regid=10001",
          "--clear-groups",
          "/usr/bin/env",
          "-i",
          ...set(),
          ...command,
        ]
      : ["/usr/bin/env", "-i", ...set(), ...command];
  const set = (): string[] => Object.entries(environment()).map(([name, value]) => `${name}=${value}`);

  const health = (): Promise<{ code: number; output: string }> =>
    run(asUser(exec(only(image, "HEALTHCHECK")).map((word) => word.replace(/^\/app/, app))));

  beforeAll(async () => {
    port = await freePort();
    for (const { text: copied } of image.instructions.filter(({ name }) => name === "COPY")) {
      const [from = "", to = ""] = copied.split(" ").slice(copied.startsWith("--from") ? 1 : 0);
      if (copied.startsWith("--from=build")) continue;
      // COPY folder folder; COPY file folder/
      const files = [
        ...filesOf(from),
        ...(existsSync(join(PROJECT, from)) && statSync(join(PROJECT, from)).isFile() ? [from] : []),
      ];
      for (const file of files.filter((path) => reachesBuild(ignore, path)))
        place(join(PROJECT, file), join(app, to.endsWith("/") ? join(to, file.split("/").at(-1) ?? "") : file));
    }
    for (const path of installed()) copy(path);
    const lock = join(app, "node_modules/.package-lock.json");
    place(join(PROJECT, "node_modules/.package-lock.json"), lock);
    // The programs of the base image that bin/parley calls; no npm, no node.
    mkdirSync(join(root, "bin"));
    for (const name of ["sh", "dirname", "readlink"]) symlinkSync(`/bin/${name}`, join(root, "bin", name));
    mkdirSync(data, { mode: 0o777 });
    chmodSync(data, 0o777);
    chmodSync(root, 0o755);
    node = new Running(asUser(["/bin/sh", join(app, "bin/parley"), "up"]));
    await until(`the start: ${node.output}`, () => node.hasEnded || node.output.includes("parley is ready"));
  });
  afterAll(async () => {
    await node.stop();
    removeFolder(root);
  });

  test("are enough to run, with nothing installed at the start", async () => {
    expect(node.output).toContain("parley is ready");
    expect(node.output).not.toContain("installing");
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });

  test("include no test and no development package", () => {
    expect(filesOf("src").filter((path) => path.endsWith(".test.ts")).length).toBeGreaterThan(10);
    expect(filesOf("src").filter((path) => path.includes("/testing/")).length).toBeGreaterThan(10);
    expect([...new Bun.Glob("src/**/{*.test.ts,testing/*}").scanSync(app)]).toEqual([]);
    expect(readdirSync(join(app, "node_modules"))).not.toContain("typescript");
  });

  test("talk, with a key that the data folder keeps for an application", async () => {
    const adminToken = /admin token +(\S+)/.exec(readFileSync(join(data, "first-run.txt"), "utf8"))?.[1] ?? "";
    const url = `http://127.0.0.1:${port}`;
    const headers = { Authorization: `Bearer ${adminToken}` };
    const body = JSON.stringify({ name: "shop" });
    await fetch(`${url}/api/internal/v1/apps`, { method: "POST", headers, body });
    const parley = ["/bin/sh", join(app, "bin/parley")];
    for (const once of ["makes the key", "uses it"])
      expect([once, await run(asUser([...parley, "publish", "a", once, "--app", "shop", "--url", url]))]).toEqual([
        once,
        { code: 0, output: "published to a\n" },
      ]);
  });

  test.skipIf(process.getuid?.() !== 0)("run as the image's user, who owns what it wrote", () => {
    expect(statSync(join(data, "master.key")).uid).toBe(10_001);
  });

  test("are healthy while the server answers, and unhealthy after it has ended", async () => {
    expect(await health()).toEqual({ code: 0, output: "" });
    await node.stop();
    expect(node.output).toContain('"msg":"stopped"');
    const after = await health();
    expect([after.code, after.output]).toEqual([1, expect.stringMatching(/connect/i)]);
  });
});
