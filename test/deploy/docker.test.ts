/**
 * The Dockerfile and its build context, as text. The suite `release` builds it where a Docker daemon runs, and otherwise runs the steps of
 * its last stage in a bare root.
 */
import { describe, expect, test } from "bun:test";
import manifest from "../../package.json" with { type: "json" };
import { releasedDockerfile } from "../../scripts/release/chart.ts";
import { exec, only, parseDockerfile, reachesBuild, type Stage } from "./support/dockerfile.ts";
import { read } from "./support/files.ts";

const ignore = read(".dockerignore");
const stages = parseDockerfile(read("deploy/Dockerfile"));
const [build, image] = stages as [Stage, Stage];
const text = read("deploy/Dockerfile");

describe("the Dockerfile", () => {
  test("has two stages on bases with an exact version", () => {
    expect(stages.map(({ name }) => name)).toEqual(["build", ""]);
    for (const { from } of stages) expect(from).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]*slim$/);
  });

  test("installs from the lockfile, and only while it is built", () => {
    const [install, compile] = build.instructions.filter(({ name }) => name === "RUN").map((one) => one.text);
    expect(install).toStartWith("npm ci ");
    expect(compile).toContain("scripts/build/build.ts --out /parley");
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
    expect(exec(only(image, "ENTRYPOINT"))).toEqual(["/usr/local/bin/parley"]);
    expect(exec(only(image, "CMD"))).toEqual(["up"]);
    expect(exec(only(image, "HEALTHCHECK"))).toEqual(["/usr/local/bin/parley", "health"]);
  });

  test("names the version of this project, and contains no secret", () => {
    for (const [, version] of text.matchAll(/parley:(\d[\d.]*)/g)) expect(version).toBe(manifest.version);
    expect(text).not.toMatch(/PARLEY_(ADMIN_TOKEN|MASTER_KEY|DATABASE_URL|NATS_URL)|sk_secret|password/i);
  });

  test("has in its build context what the executable is made of, and nothing else", () => {
    for (const kept of [
      "package.json",
      "package-lock.json",
      "bin/parley",
      "bin/setup.sh",
      "src/main.ts",
      "web/start/index.html",
      "client/src/all.ts",
      "docs/cli.md",
      "scripts/release/release.ts",
      "LICENSE",
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
      "test/run.ts",
      "web/.build/manifest.json",
      "src/access/tokens/token.test.ts",
      "src/realtime/testing/kit.ts",
    ])
      expect([left, reachesBuild(ignore, left)]).toEqual([left, false]);
  });

  test("becomes the file of a release: the same image of an executable that is there already", () => {
    const made = parseDockerfile(releasedDockerfile(text));
    expect(made.map(({ from, name }) => `${from} ${name}`)).toEqual([`${image.from} build`, `${image.from} `]);
    const [unpacking] = made as [Stage];
    expect(only(unpacking, "COPY")).toBe("parley-linux-x64.tar.gz parley-linux-arm64.tar.gz /archives/");
    const unpacks = (architecture: string): string => {
      const script = `dpkg() { echo ${architecture}; }; tar() { echo "$@"; }; ${only(unpacking, "RUN")}`;
      return Bun.spawnSync(["sh", "-c", script]).stdout.toString().trim();
    };
    expect(unpacks("amd64")).toBe("-xzf /archives/parley-linux-x64.tar.gz -C /");
    expect(unpacks("arm64")).toBe("-xzf /archives/parley-linux-arm64.tar.gz -C /");
    expect(made.at(-1)).toEqual(image);
    expect(() => releasedDockerfile("FROM a\nRUN b")).toThrow("another form");
  });

  test("is recognised as wrong after a change", () => {
    expect(() => parseDockerfile("RUN x\nFROM y")).toThrow("before the first FROM");
    expect(() => parseDockerfile("FROM y\nRUNN x")).toThrow("no instruction RUNN");
    expect(() => only(image, "RUN") + only(build, "USER")).toThrow();
  });
});
