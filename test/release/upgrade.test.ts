/** A data folder of 0.1.0, which ran from a clone, used by the executable of this version as it is. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { Running } from "../deploy/support/program.ts";
import { BEFORE_COMMIT, WITH_BEFORE } from "../support/release-before.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { DataOfBefore } from "./support/before.ts";
import { ownExecutable } from "./support/released.ts";
import { ready } from "./support/service.ts";

setDefaultTimeout(900_000);

test("CHANGELOG.md names the commit of 0.1.0 in full", () => {
  expect(BEFORE_COMMIT).toHaveLength(40);
});

describe.skipIf(!WITH_BEFORE)("the folder of a node of 0.1.0", () => {
  const folder = tempFolder();
  const data = join(folder, "data");
  let executable: string;
  let before: DataOfBefore;

  beforeAll(async () => {
    executable = await ownExecutable(folder);
    before = await DataOfBefore.once();
    before.layInto(data);
  });
  afterAll(() => removeFolder(folder));

  test.each(["the first start, which migrates it", "the second"])(
    "has its applications, keys and tokens with this version at %s",
    async () => {
      const port = await freePort();
      const service = new Running([executable, "up", "--port", String(port), "--data", data, "--log-format", "json"]);
      try {
        await ready(service);
        await before.goesOnAt(`http://127.0.0.1:${port}`, data);
      } finally {
        await service.stop();
      }
      expect(service.output).toContain('"msg":"stopped"');
    },
  );
});
