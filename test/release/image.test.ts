/**
 * The image: built and run by Docker where a daemon runs; otherwise the executable is built of the build context alone, and the steps of the
 * last stage are run by hand in a bare root of the same Debian as its base, with a root that cannot be written to.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { exec, only, parseDockerfile, reachesBuild, type Stage } from "../deploy/support/dockerfile.ts";
import { PROJECT, read } from "../deploy/support/files.ts";
import { type Ended, type Running, run } from "../deploy/support/program.ts";
import { WITH_BEFORE } from "../support/release-before.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { BareRoot, noBareRoot } from "./support/bare-root.ts";
import { DataOfBefore } from "./support/before.ts";
import { MEETING_ENV, recordedMeeting } from "./support/meeting.ts";
import { ready, timed } from "./support/service.ts";

setDefaultTimeout(900_000);

const image = parseDockerfile(read("deploy/Dockerfile")).at(-1) as Stage;
const hasDocker = IS_FULL && Bun.which("docker") !== null && (await run(["docker", "info"])).code === 0;

describe.skipIf(!IS_FULL || noBareRoot() !== undefined)("made by hand,", () => {
  const folder = tempFolder();
  const user = only(image, "USER");
  const set = Object.fromEntries(
    only(image, "ENV")
      .split(" ")
      .map((word) => word.split("=") as [string, string]),
  );
  let root: BareRoot;
  let port: number;
  let service: Running | undefined;

  /** What the first stage leaves in /parley. */
  const built = (path: string): string => join(folder, basename(path));

  async function follow({ name, text }: Stage["instructions"][number]): Promise<void> {
    if (name === "RUN") expect([text, await root.run(["sh", "-c", text])]).toMatchObject([text, { code: 0 }]);
    if (name !== "COPY") return;
    const [from, ...paths] = text.split(" ");
    expect(from).toBe("--from=build");
    const to = paths.pop() ?? "";
    for (const path of paths) {
      const target = to.endsWith("/") ? join(to, basename(path)) : to;
      mkdirSync(join(root.at(target), ".."), { recursive: true });
      copyFileSync(built(path), root.at(target));
    }
  }

  /** As `docker run --read-only --tmpfs /tmp -v …:/data` does. */
  const inside = () => ({
    user,
    env: { ...set, ...MEETING_ENV, PARLEY_PORT: String(port), PARLEY_HOST: "127.0.0.1" },
    writable: ["/data", "/tmp"],
    cwd: only(image, "WORKDIR"),
  });
  const parley = (...args: string[]): Promise<Ended> =>
    root.run([...exec(only(image, "ENTRYPOINT")), ...args], inside());
  const health = (): Promise<Ended> => root.run(exec(only(image, "HEALTHCHECK")), inside());

  async function start(): Promise<void> {
    const running = root.start([...exec(only(image, "ENTRYPOINT")), ...exec(only(image, "CMD"))], inside());
    service = running;
    await timed("image, made by hand: started after", () => ready(running));
  }

  /** The first stage: it has no more than .dockerignore lets through, and the packages. Its npm ci is left out. */
  async function build(): Promise<void> {
    const app = join(folder, "app");
    const { output } = await run(["git", "-C", PROJECT, "ls-files"]);
    for (const path of output
      .trim()
      .split("\n")
      .filter((one) => reachesBuild(read(".dockerignore"), one))) {
      mkdirSync(join(app, path, ".."), { recursive: true });
      copyFileSync(join(PROJECT, path), join(app, path));
    }
    symlinkSync(join(PROJECT, "node_modules"), join(app, "node_modules"));
    const script = `cd "$0" && SOURCE_DATE_EPOCH=0 exec "$@"`;
    const command = [process.execPath, "--no-env-file", "scripts/build/build.ts", "--out", join(folder, "out")];
    expect(await run(["sh", "-c", script, app, ...command])).toMatchObject({ code: 0 });
    renameSync(join(folder, `out/parley-linux-${process.arch}`), built("parley"));
  }

  beforeAll(async () => {
    await build();
    copyFileSync(join(PROJECT, "LICENSE"), built("LICENSE"));
    writeFileSync(built("LICENCES.txt"), (await run([built("parley"), "licences"])).output);
    root = await BareRoot.make();
    for (const instruction of image.instructions) await follow(instruction);
    port = await freePort();
    await start();
  });
  afterAll(async () => {
    await service?.stop();
    root?.remove();
    removeFolder(folder);
  });

  test("its user is not root, owns the data alone, and cannot write elsewhere", async () => {
    expect(await root.run(["id", "-u"], inside())).toEqual({ code: 0, output: "10001\n" });
    expect((statSync(root.at("data")).mode & 0o777).toString(8)).toBe("700");
    expect((await root.run(["sh", "-c", "echo >/usr/local/bin/parley"], inside())).output).toContain("Read-only");
    expect((await root.run(["sh", "-c", "echo >/data/mine && rm /data/mine"], inside())).code).toBe(0);
  });

  test("it answers with its pages, and is healthy as long as it runs", async () => {
    for (const path of ["/readyz", "/", "/dashboard"])
      expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, 200]);
    expect((await health()).code).toBe(0);
  });

  test("its commands find the service and its token in the volume", async () => {
    const url = `http://127.0.0.1:${port}`;
    expect(await parley("apps", "create", "shop", "--url", url)).toMatchObject({ code: 0 });
    expect((await parley("publish", "a", "hello", "--app", "shop", "--url", url)).output).toContain("published to a");
  });

  test("a recorded meeting is mended, with the shell of the base and no other folder to write to", async () => {
    expect(await recordedMeeting(`http://127.0.0.1:${port}`, root.at("data/first-run.txt"))).toMatchObject({
      mended: true,
    });
  });

  test("its data is there after a stop and a start", async () => {
    const key = readFileSync(root.at("data/master.key"));
    await service?.stop();
    expect(service?.output).toContain('"msg":"stopped"');
    expect((await health()).code).toBe(1);
    await start();
    expect((await parley("apps", "list", "--url", `http://127.0.0.1:${port}`)).output).toContain("shop");
    expect(readFileSync(root.at("data/master.key"))).toEqual(key);
  });

  test.skipIf(!WITH_BEFORE)("it goes on with a volume that has the data folder of 0.1.0", async () => {
    await service?.stop();
    const before = await DataOfBefore.once();
    for (const name of readdirSync(root.at("data"))) removeFolder(root.at(join("data", name)));
    before.layInto(root.at("data"));
    await root.run(["chown", "-R", user, "/data"]);
    await start();
    await before.goesOnAt(`http://127.0.0.1:${port}`, root.at("data"));
  });

  test("it has the licences of everything inside", () => {
    expect(readFileSync(root.at("usr/share/doc/parley/LICENCES.txt"), "utf8")).toMatch(/^bun /m);
  });
});

describe.skipIf(!hasDocker)("Docker", () => {
  const name = `parley-test-${crypto.randomUUID()}`;
  const docker = (...args: string[]): Promise<Ended> => run(["docker", ...args]);
  afterAll(async () => {
    await docker("rm", "--force", "--volumes", name);
    await docker("rmi", "--force", name);
  });

  test("builds the image, which runs with a read-only root and becomes healthy", async () => {
    const built = await docker("build", "-f", join(PROJECT, "deploy/Dockerfile"), "-t", name, PROJECT);
    expect([built.code, built.output.slice(-1000)]).toEqual([0, expect.any(String)]);
    await docker("run", "-d", "--name", name, "--read-only", "--tmpfs", "/tmp", name);
    await until("it is healthy", async () => {
      const { output } = await docker("inspect", "--format", "{{.State.Health.Status}}", name);
      return output.trim() === "healthy";
    });
    expect((await docker("exec", name, "cat", "/data/first-run.txt")).output).toContain("admin token");
  });
});
