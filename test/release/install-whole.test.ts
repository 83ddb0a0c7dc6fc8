/** install.sh with the executable of this version, from the files of a release on a local port. Only in full runs. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeSums } from "../../scripts/release/archive.ts";
import { packBinary } from "../../scripts/release/binaries.ts";
import { factsOf } from "../../scripts/release/facts.ts";
import { installScript } from "../../scripts/release/install.ts";
import { licenceFiles } from "../../scripts/release/licences.ts";
import { freePort } from "../../src/testing/ports.ts";
import { type Ended, Running, run } from "../deploy/support/program.ts";
import { WITH_BEFORE } from "../support/release-before.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { DataOfBefore } from "./support/before.ts";
import { OWN_TARGET, ownExecutable } from "./support/released.ts";
import { ready, timed, tourPasses } from "./support/service.ts";

setDefaultTimeout(900_000);

describe.skipIf(!IS_FULL)("what install.sh installs", () => {
  const folder = tempFolder();
  const [files, home] = [join(folder, "latest/download"), join(folder, "home")];
  const program = join(home, ".local/bin/parley");
  let server: ReturnType<typeof Bun.serve>;

  const install = (): Promise<Ended> =>
    run(["sh", join(files, "install.sh")], { HOME: home, PARLEY_INSTALL_TO: "", PARLEY_INSTALL_FROM: "" });

  beforeAll(async () => {
    mkdirSync(files, { recursive: true });
    mkdirSync(home);
    const work = join(folder, "work");
    const { epochSeconds } = await factsOf("0.0.0");
    const binary = { target: OWN_TARGET, file: await ownExecutable(folder) };
    await packBinary(binary, await licenceFiles(), files, epochSeconds, work);
    await writeSums(files);
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => new Response(Bun.file(join(folder, new URL(url).pathname.replace("/parley/releases/", "")))),
    });
    const repository = `http://127.0.0.1:${server.port}/parley`;
    writeFileSync(join(files, "install.sh"), installScript({ repository }));
    const { code, output } = await timed("install.sh: installed in", install);
    expect([code, output]).toEqual([0, expect.stringContaining(`is installed in ${program}`)]);
  });
  afterAll(() => {
    server?.stop(true);
    removeFolder(folder);
  });

  /** Runs it with its data in the default place. */
  async function whileItRuns(at: string, use: (url: string) => Promise<void>): Promise<void> {
    const port = await freePort();
    const service = new Running(["env", "-C", at, program, "up", "--port", String(port), "--log-format", "json"]);
    try {
      await timed("install.sh: started after", () => ready(service));
      await use(`http://127.0.0.1:${port}`);
    } finally {
      await service.stop();
    }
    expect(service.output).toContain('"msg":"stopped"');
  }

  test("starts in an empty folder, and goes on while a newer file is put in its place", async () => {
    const at = join(folder, "empty");
    mkdirSync(at);
    await whileItRuns(at, async (url) => {
      const { ino } = statSync(program);
      expect(await install()).toMatchObject({ code: 0 });
      expect(statSync(program).ino).not.toBe(ino);
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
    });
    expect(readdirSync(at)).toEqual(["data"]);
  });

  test("passes the tour, with a recorded meeting", () =>
    timed("install.sh: tour passed in", () => tourPasses(program)));

  test.skipIf(!WITH_BEFORE)("goes on with the data folder of 0.1.0", async () => {
    const at = join(folder, "upgraded");
    const before = await DataOfBefore.once();
    before.layInto(join(at, "data"));
    await whileItRuns(at, (url) => before.goesOnAt(url, join(at, "data")));
  });

  test("is removed with one file; nothing else is left of it but its data", () => {
    removeFolder(program);
    const left = (readdirSync(home, { recursive: true }) as string[]).filter((path) =>
      statSync(join(home, path)).isFile(),
    );
    expect(left).toEqual([]);
    expect(existsSync(join(folder, "empty/data/master.key"))).toBe(true);
  });
});
